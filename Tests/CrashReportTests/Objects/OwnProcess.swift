import Glibc
import ProcessSnapshot

@testable import CrashAnalysis
@testable import CrashReport

/// Reads the memory of this process like that of a dump: unmapped memory returns nothing.
enum OwnProcess {
  private static let descriptor = unsafe open("/proc/self/mem", O_RDONLY | O_CLOEXEC)

  static func bytes(at address: Address, count: Int) -> ArraySlice<UInt8>? {
    guard let place = off_t(exactly: address.value), count > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    let copied = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe pread(descriptor, buffer.baseAddress, count, place)
    }
    return copied == count ? bytes[...] : nil
  }

  static func reader() -> ObjectReader {
    ObjectReader(ProcessReader(memory: bytes, constants: bytes), showsContents: true)
  }

  static func address(of object: AnyObject) -> Address {
    Address(UInt64(UInt(bitPattern: unsafe Unmanaged.passUnretained(object).toOpaque())))
  }
}
