// What a program gets with one `import Postmortem`: the names below and nothing else of the rooms
// behind them.

@_exported import struct CrashConverter.CrashConverterError
@_exported import struct CrashConverter.ProcessedDump
@_exported import func CrashConverter.processIntermediateDumps
@_exported import struct CrashHandler.CaptureLimits
@_exported import struct CrashHandler.CrashHandlerError
@_exported import typealias CrashHandler.FirstChanceHandler
@_exported import struct CrashHandler.Handler
@_exported import struct CrashHandler.HandlerOptions
@_exported import struct CrashHandler.HandlerStatus
@_exported import func CrashHandler.handlerStatus
@_exported import func CrashHandler.installAlternateStack
@_exported import func CrashHandler.setFirstChanceHandler
@_exported import func CrashHandler.startHandler
@_exported import func CrashHandler.startedHandler
@_exported import class HangDetection.HangMonitor
@_exported import struct IntermediateDump.ReportID
