import Postmortem

do {
  try startHandler(database: "/var/tmp/minimal-cli-crashes")
  for dump in try processIntermediateDumps() { print(dump) }
} catch { print("no crash reports: \(error)") }

print("Your name (an empty line crashes):")
guard let name = readLine(), !name.isEmpty else { fatalError("no name was given") }
print("Hello, \(name)")
