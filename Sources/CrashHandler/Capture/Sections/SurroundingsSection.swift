internal import CSignalSafe
internal import IntermediateDump

/// Writes the process's place on its machine: container, time zone, working directory, and its open
/// descriptors.
///
/// Only the kernel's own names are read, never an attribute of a file: a file system that does not
/// answer, such as NFS without its server, would hold up the end of the process.
///
/// RUNS-DURING-CRASH. Source: proc(5), /proc/pid/fd, cwd, mountinfo.
@safe
struct SurroundingsSection {
  /// Descriptors that are listed at most.
  private static var descriptorLimit: Int { 256 }
  private static var pathLimit: Int { 512 }
  private static var timeZoneLimit: Int { 256 }

  private let proc: ProcReader
  private let scratch: Scratch
  private let hidesNames: Bool
  private let output: DumpOutput

  /// - Parameter hidesNames: whether what may tell of a person is left out.
  @_noLocks
  init(proc: ProcReader, scratch: Scratch, hidesNames: Bool, output: DumpOutput) {
    self.proc = proc
    self.scratch = scratch
    self.hidesNames = hidesNames
    self.output = output
  }

  // MARK: - The system

  /// - Parameters:
  ///   - timeZone: whether no TZ was set at launch.
  ///   - container: whether the mounts may tell of a container.
  @_noLocks
  func writeSystem(timeZone: Bool, container: Bool) {
    guard !proc.isMissing else { return }
    output.startMap(.system)
    if timeZone, !hidesNames {
      let target = unsafe ProcReader.link(
        AT_FDCWD, ProcReader.characters("/etc/localtime"), in: scratch)
      if target.count > 0 {
        output.property(.timeZone, target.prefixOfCharacters(SurroundingsSection.timeZoneLimit))
      }
    }
    if container { writeContainerMount() }
    output.end()
  }

  /// Writes the file that a container's runtime has mounted into it, whose path has the container's ID.
  private func writeContainerMount() {
    let descriptor = proc.open(named: "thread-self/mountinfo")
    guard descriptor >= 0 else { return }
    let text = scratch.firstHalf
    let count = unsafe ProcReader.fill(text.address, capacity: text.size, from: descriptor)
    _ = pm_close(descriptor)
    let mount = SurroundingsSection.containerMount(in: text.text(count: count))
    if mount.count > 0 {
      output.property(
        .containerMount, mount.prefixOfCharacters(SurroundingsSection.pathLimit))
    }
  }

  /// The mounted file in the text of `mountinfo`; empty where there is none.
  ///
  /// A line: two numbers, the device, the mounted path in its file system, the path here, and more.
  @_noLocks
  static func containerMount(in text: TextScanner) -> Bytes {
    var lines = text
    var found = text.line.prefix(0)
    while !lines.isAtEnd {
      var line = lines
      line.skipWords(3)
      let mounted = line.word()
      line.skipBlanks()
      if line.matches("/run/.containerenv ") { return mounted }
      if found.count == 0, line.matches("/etc/hostname ") { found = mounted }
      lines.skipLine()
    }
    return found
  }

  // MARK: - The process

  @_noLocks
  func writeProcess() {
    output.startMap(.process)
    if !hidesNames {
      let directory = proc.link("thread-self/cwd", in: scratch)
      if directory.count > 0 {
        output.property(
          .workingDirectory, directory.prefixOfCharacters(4095))
      }
    }
    writeDescriptors()
    output.end()
  }

  private func writeDescriptors() {
    let directory = proc.open(named: "thread-self/fd", directory: true)
    guard directory >= 0 else { return }
    var entries = DirectoryEntries(directory, in: scratch.firstHalf)
    var count = 0
    output.startArray(.descriptors)
    while count < SurroundingsSection.descriptorLimit, let name = entries.next() {
      // Neither "." nor "..", nor what the list is read by.
      guard name.current != 0x2E else { continue }
      var digits = name
      let number = Int32(truncatingIfNeeded: digits.decimal())
      guard number != directory else { continue }
      let link = unsafe ProcReader.link(
        directory, name.address.assumingMemoryBound(to: CChar.self), in: scratch.secondHalf)
      write(number, link)
      count &+= 1
    }
    output.end()
    _ = pm_close(directory)
  }

  /// Writes one descriptor; its number alone where the link could not be read.
  private func write(_ number: Int32, _ link: Bytes) {
    output.startMap(.descriptor)
    output.identifier(.descriptorNumber, number)
    if link.count > 0 {
      let kind = DescriptorKind(link, of: number)
      output.unsigned(.descriptorKind, kind.code, width: 1)
      let isDeleted = kind.isNamed && link.hasSuffix(" (deleted)")
      if isDeleted { output.unsigned(.descriptorIsDeleted, 1, width: 1) }
      if !hidesNames || kind.hasKernelsName {
        let path = isDeleted ? link.prefix(link.count &- 10) : link
        let kept = path.prefixOfCharacters(SurroundingsSection.pathLimit)
        output.property(.descriptorPath, kept)
        if kept.count < path.count { output.unsigned(.descriptorPathIsCut, 1, width: 1) }
      }
    }
    output.end()
  }
}

extension DescriptorKind {
  /// The kind of an open file, by the text of its link in `/proc/thread-self/fd`.
  ///
  /// RUNS-DURING-CRASH. Source: proc_pid_fd(5); Linux fs/d_path.c.
  ///
  /// - Parameter descriptor: asked for the flags that it was opened with.
  @_noLocks
  init(_ link: Bytes, of descriptor: Int32) {
    let text = link.text
    if text.matches("/memfd:") {
      self = .memory
    } else if text.current == 0x2F {
      let flags = pm_open_flags(descriptor)
      if flags >= 0, flags & Int(O_DIRECTORY) != 0 {
        self = .directory
      } else {
        self = text.matches("/dev/") && !text.matches("/dev/shm/") ? .device : .file
      }
    } else if text.matches("socket:[") {
      self = .socket
    } else if text.matches("pipe:[") {
      self = .pipe
    } else {
      self = text.matches("anon_inode:") ? .anonymous : .other
    }
  }
}
