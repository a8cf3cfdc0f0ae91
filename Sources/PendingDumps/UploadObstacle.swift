internal import Synchronization

/// Why this process's uploader sends nothing, for the handler's status.
package enum UploadObstacle {
  /// A sentence for people; nil if there is no obstacle, or no uploader.
  package static var current: String? {
    get { obstacle.withLock { $0 } }
    set { obstacle.withLock { $0 = newValue } }
  }
}

private let obstacle = Mutex<String?>(nil)
