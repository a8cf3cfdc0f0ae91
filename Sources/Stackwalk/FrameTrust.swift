/// How a frame was found, which says how far it can be believed.
///
/// An open set: later unwinding methods add words.
public struct FrameTrust: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The word that reports print.
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The thread's own registers: certain.
  public static let context = FrameTrust(rawValue: "context")
  /// The compiler's own description of the frame: certain, if the frame below is and the stack is
  /// not damaged.
  public static let callFrameInformation = FrameTrust(rawValue: "call-frame-information")
  /// The registers that the kernel saved when it ran a signal handler on this stack: certain, if
  /// the frame below is.
  public static let signalFrame = FrameTrust(rawValue: "signal-frame")
  /// The return address of a call that had not set up a frame yet: from the top of the stack or the
  /// link register.
  public static let returnAddress = FrameTrust(rawValue: "return-address")
  /// The chain of saved frame pointers; may lack callers that keep none.
  public static let framePointer = FrameTrust(rawValue: "frame-pointer")
  /// A word on the stack that points right behind a call; may be left over from an earlier call.
  public static let scan = FrameTrust(rawValue: "scan")
  /// The first frame that was found above a part of the stack that the dump left out; frames before
  /// it are missing.
  public static let afterGap = FrameTrust(rawValue: "after-gap")

  /// The frame of an asynchronous function that waits, in its task's memory and on no stack.
  public static let asyncContext = FrameTrust(rawValue: "async-context")

  public var description: String { rawValue }
}
