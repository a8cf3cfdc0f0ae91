internal import CSignalSafe
internal import IntermediateDump

/// A handle to the state of one dump; crash code receives this handle instead of using global variables.
///
/// `session` belongs to this dump, `installed` was fixed at launch, and `shared` is common to all threads and dumps
/// of the process. None of this memory is freed while a thread can reach it. Global variables of Swift are not used,
/// because in debug builds Swift initializes them lazily and checks each access for exclusivity.
///
/// RUNS-DURING-CRASH.
@safe
struct Capture {
  private let address: UnsafeMutablePointer<Session>

  /// Creates the handle from a pointer to the dump's `Session`, such as the argument of a section's function.
  @_noLocks
  init(_ argument: UnsafeMutableRawPointer) {
    unsafe address = argument.assumingMemoryBound(to: Session.self)
  }

  /// The handle to the session for the dumps of crashes; nil until the handler is installed.
  static var ofHandler: Capture? {
    @_noLocks get {
      guard let address = unsafe pm_state() else { return nil }
      return unsafe Capture(address)
    }
  }

  /// The address of the `Session`, which is the argument of each function that writes a section.
  var argument: UnsafeMutableRawPointer {
    @_noLocks get { unsafe UnsafeMutableRawPointer(address) }
  }

  var session: Session {
    @_noLocks unsafeAddress { unsafe UnsafePointer(address) }
    @_noLocks nonmutating unsafeMutableAddress { unsafe address }
  }

  var installed: Installed {
    @_noLocks unsafeAddress { unsafe UnsafePointer(address.pointee.installed) }
  }

  var shared: Shared {
    @_noLocks unsafeAddress { unsafe UnsafePointer(address.pointee.shared) }
    @_noLocks nonmutating unsafeMutableAddress { unsafe address.pointee.shared }
  }

  /// True if the thread that the dump is about also takes the dump; false for a hang.
  var capturesItself: Bool { @_noLocks get { !session.request.isHang } }

  /// The writer that a section uses to add data to the dump.
  var writer: IntermediateDumpWriter {
    @_noLocks unsafeAddress { unsafe UnsafePointer(address.pointee.writerPlace) }
    @_noLocks nonmutating unsafeMutableAddress { unsafe address.pointee.writerPlace }
  }
}
