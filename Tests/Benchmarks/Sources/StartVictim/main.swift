// The process whose start or steady state is measured: `start-victim start|steady [DATABASE]`. It starts no
// handler without a database.
import Glibc
import PostmortemHandler

let database = CommandLine.arguments.count > 2 ? CommandLine.arguments[2] : nil
switch CommandLine.arguments.dropFirst().first {
case "start": try StartFigures.print(database)
case "steady": try SteadyFigures.print(database)
default: exit(64)
}
