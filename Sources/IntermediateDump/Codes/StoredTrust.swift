/// The method by which a stored frame was found; part of the values of the key `threadFrames`.
package enum StoredTrust: UInt8, DumpCode {
  case context = 0
  case callFrameInformation = 1
  case signalFrame = 2
  case returnAddress = 3
  case framePointer = 4
  case scan = 5
  case afterGap = 6
  case asyncContext = 7
  case tailCall = 8

  package var word: String {
    switch self {
    case .context: "context"
    case .callFrameInformation: "call-frame-information"
    case .signalFrame: "signal-frame"
    case .returnAddress: "return-address"
    case .framePointer: "frame-pointer"
    case .scan: "scan"
    case .afterGap: "after-gap"
    case .asyncContext: "async-context"
    case .tailCall: "tail-call"
    }
  }
}
