internal import IntermediateDump
internal import ProcessSnapshot

/// Finds threads of a dump by the IDs that the process itself uses.
///
/// The memory of a lock contains the owner's ID in the PID namespace of the process. A dump lists the threads by other
/// IDs if it was written outside that namespace, for example by a debugger on the host of a container, or if `/proc`
/// belongs to another namespace.
struct ThreadIDs {
  /// The IDs in the dump, by the IDs that the process itself uses.
  private let listed: [UInt32: UInt32]
  /// The IDs that the process itself uses, by the IDs in the dump.
  private let own: [UInt32: UInt32]
  /// True if the IDs in the dump are known to be those that the process itself uses, or if they were all translated.
  let areCertain: Bool

  init(of snapshot: ProcessSnapshot) {
    let ids = snapshot.threads.map(\.id)
    let blocks = snapshot.threads.compactMap { thread in
      ThreadBlock(of: thread, in: snapshot).map { (listed: thread.id, own: $0.threadID) }
    }
    let isFromOutside = snapshot.process.isListedFromOutside
    let isTranslated = isFromOutside || blocks.contains { $0.own != $0.listed }
    let pairs = isTranslated ? blocks : ids.map { (listed: $0, own: $0) }
    listed = Dictionary(
      pairs.map { ($0.own, $0.listed) }, uniquingKeysWith: { first, _ in first })
    own = Dictionary(pairs.map { ($0.listed, $0.own) }, uniquingKeysWith: { first, _ in first })
    // The kernel writes core files with the IDs of the process's own namespace, but a debugger uses its own.
    areCertain =
      isTranslated || snapshot.request?.kind == .coreFile ? blocks.count == ids.count : true
  }

  /// The ID in the dump of the thread with an ID from the process's memory; nil if the dump does not contain the thread.
  func thread(_ id: UInt32) -> UInt32? { listed[id] }

  /// The ID that the process itself uses for a thread of the dump; nil if it is not known.
  func ownID(of thread: UInt32) -> UInt32? { own[thread] }
}

extension ProcessDescription {
  /// True if `/proc` showed the IDs of another PID namespace than that of the process.
  ///
  /// Source: proc_pid_status(5), NSpid: the IDs from the namespace of this `/proc` to that of the process.
  fileprivate var isListedFromOutside: Bool {
    let line = statusText?.split(separator: UInt8(ascii: "\n"))
      .first { $0.starts(with: "NSpid:".utf8) }
    return (line?.split { $0 == 0x20 || $0 == 0x09 }.count ?? 0) > 2
  }
}

/// The C library's control block of a thread, `struct pthread`.
///
/// Source: glibc nptl/descr.h: a header (704 bytes on x86_64, 192 on arm64), the links of a list that contains all
/// threads, and the thread's ID.
///
/// On x86_64, the thread pointer is the address of the block. On arm64, the block ends at the thread pointer, and its
/// size depends on the version of glibc. So the links decide where the block begins: the next and the previous element
/// of the list must point back.
private struct ThreadBlock {
  /// The range of sizes of the block on arm64, from glibc 2.31 to 2.43.
  private static let sizes = stride(from: UInt64(0x500), through: 0xA00, by: 16)

  let threadID: UInt32

  init?(of thread: ThreadSnapshot, in snapshot: ProcessSnapshot) {
    guard let pointer = thread.threadPointer?.value, pointer & 7 == 0 else { return nil }
    let memory = snapshot.memory
    let links: UInt64?
    switch snapshot.architecture {
    case .x86_64: links = Self.isLinked(pointer &+ 704, memory) ? pointer &+ 704 : nil
    case .arm64:
      links = Self.sizes.lazy.map { pointer &- $0 &+ 192 }.first { Self.isLinked($0, memory) }
    }
    guard let links,
      let id = memory.bytes(at: Address(links &+ 16), count: 4)?
        .littleEndian(at: 0, as: UInt32.self),
      id != 0, id < 1 << 30
    else { return nil }
    threadID = id
  }

  private static func isLinked(_ links: UInt64, _ memory: MemorySnapshot) -> Bool {
    guard let next = memory.word(at: Address(links)), next != 0,
      let previous = memory.word(at: Address(links &+ 8)), previous != 0
    else { return false }
    return memory.word(at: Address(next &+ 8)) == links
      && memory.word(at: Address(previous)) == links
  }
}
