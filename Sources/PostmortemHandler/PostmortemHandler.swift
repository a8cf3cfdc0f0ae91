// The public names of the handler alone, for a program that only writes dumps. Another program with the same database
// converts these dumps to reports.

@_exported import struct CrashHandler.Annotation
@_exported import struct CrashHandler.CaptureLimits
@_exported import struct CrashHandler.CrashHandlerError
@_exported import enum CrashHandler.ExtraMemory
@_exported import typealias CrashHandler.FirstChanceHandler
@_exported import struct CrashHandler.HandledSignals
@_exported import struct CrashHandler.Handler
@_exported import struct CrashHandler.HandlerOptions
@_exported import struct CrashHandler.HandlerStatus
@_exported import enum CrashHandler.SimpleAnnotations
@_exported import struct CrashHandler.SystemCalls
@_exported import struct CrashHandler.WorkContext
@_exported import func CrashHandler.addAttachment
@_exported import func CrashHandler.installAlternateStack
@_exported import func CrashHandler.leaveBreadcrumb
@_exported import func CrashHandler.noteTermination
@_exported import func CrashHandler.removeAttachment
@_exported import func CrashHandler.setFirstChanceHandler
@_exported import func CrashHandler.startHandler
@_exported import func CrashHandler.withContext
@_exported import class HangDetection.HangMonitor
@_exported import enum IntermediateDump.BreadcrumbLevel
@_exported import struct IntermediateDump.ReportID
@_exported import struct IntermediateDump.ReportPrivacy
@_exported import struct IntermediateDump.Timestamp
@_exported import struct PendingDumps.OutcomeCounters
