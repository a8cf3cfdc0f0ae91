internal import Foundation

/// Limits the number of concurrent users to the number of processors; the others wait in line.
actor Turnstile {
  static let shared = Turnstile(places: max(ProcessInfo.processInfo.activeProcessorCount, 1))

  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(places: Int) { free = places }

  func enter() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func leave() {
    guard !waiting.isEmpty else {
      free += 1
      return
    }
    waiting.removeFirst().resume()
  }
}
