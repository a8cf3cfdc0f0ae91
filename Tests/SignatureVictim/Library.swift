internal import Dispatch
internal import Glibc

/// The library that the arguments name.
enum Library {
  private typealias Run = @convention(c) (Int32) -> Void

  /// Dies in it; comes back where the library does not die or is not one.
  static func crash() {
    let arguments = CommandLine.arguments
    guard let kind = Int32(arguments[3]), let library = unsafe dlopen(arguments[2], RTLD_NOW),
      let symbol = unsafe dlsym(library, "shop_run")
    else { return }
    unsafe unsafeBitCast(symbol, to: Run.self)(kind)
  }

  static func crashOnPthread() {
    var thread = pthread_t()
    unsafe pthread_create(
      &thread, nil,
      { _ in
        Library.crash()
        return nil
      }, nil)
    pthread_join(thread, nil)
  }

  static func crashOnWorker() {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      crash()
      done.signal()
    }
    done.wait()
  }
}
