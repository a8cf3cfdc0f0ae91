internal import CSignalSafe
internal import IntermediateDump

/// Writes where the process runs (container, working directory), and its open descriptors.
///
/// The section reads only names that the kernel itself has in memory, never the attributes of a file. Otherwise, a file
/// system that does not respond, such as NFS without its server, would delay the end of the process.
///
/// The same lists show whether a thread of the program or another process may have to provide pages of memory. If
/// neither does, later sections read memory without looking up the states of pages (`ResidentPages`).
///
/// RUNS-DURING-CRASH. Source: proc(5), /proc/pid/fd, cwd, mountinfo.
@c(pm_write_surroundings) @_noLocks
func pm_write_surroundings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let pages = capture.absentPages
  let mounts = pages.mounts()
  capture.writeMachine(mounts)
  if !capture.writePlace(), !pages.areServed(in: mounts) { capture.closeResidentPages() }
}

enum Surroundings {
  /// The maximum number of listed descriptors.
  fileprivate static var descriptorLimit: Int { 256 }
  fileprivate static var pathLimit: Int { 512 }

  /// Finds the path, outside the container, of a file that the container's runtime mounts; empty if there is none.
  ///
  /// A line of `mountinfo` contains two numbers, the device, the mounted path in its file system, the mount point,
  /// and more.
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
}

extension Capture {
  // MARK: - The system

  /// Writes the path, outside the container, of a file that the container's runtime has mounted.
  ///
  /// With Docker and Podman, this path contains the container's ID.
  fileprivate func writeMachine(_ mounts: TextScanner) {
    guard installed.surroundings.mayBeContainer, !proc.isMissing else { return }
    writer.startMap(.system)
    let mount = Surroundings.containerMount(in: mounts)
    if mount.count > 0 {
      writer.property(.containerMount, mount.prefixOfCharacters(Surroundings.pathLimit))
    }
    writer.end()
  }

  // MARK: - The process

  /// Returns true unless no descriptor is one of userfaultfd.
  fileprivate func writePlace() -> Bool {
    writer.startMap(.process)
    defer { writer.end() }
    if !installed.surroundings.isHidden {
      let directory = unsafe proc.link(
        ProcReader.characters("thread-self/cwd"), in: session.scratch)
      if directory.count > 0 {
        writer.property(.workingDirectory, directory.prefixOfCharacters(4095))
      }
    }
    return writeDescriptors()
  }

  /// Writes the first `descriptorLimit` open descriptors, and the number of all open descriptors, which are counted up
  /// to 65,536.
  ///
  /// - Returns: true unless all descriptors were listed, and none is one of userfaultfd.
  private func writeDescriptors() -> Bool {
    unsafe pm_close_all(&session.files.unclosed)
    let directory = proc.open(named: "thread-self/fd", directory: true)
    session.counts.set(.descriptors, isShown: directory >= 0)
    guard directory >= 0 else { return true }
    var entries = DirectoryEntries(directory, in: session.scratch.firstHalf)
    var (count, listed) = (UInt64(0), 0)
    var isServer = false
    writer.startArray(.descriptors)
    while count < 65536, let name = entries.next() {
      // Skips "." and "..".
      guard name.current != 0x2E else { continue }
      count &+= 1
      var digits = name
      let number = Int32(truncatingIfNeeded: digits.decimal())
      // The descriptor with which the list is read is counted, but not listed.
      guard number != directory else { continue }
      listed &+= 1
      guard listed <= Surroundings.descriptorLimit else { continue }
      let link = unsafe ProcReader(proc: directory).link(
        name.rest.address.assumingMemoryBound(to: CChar.self), in: session.scratch.secondHalf)
      writeDescriptor(number, link)
      isServer = isServer || link.count == 0 || link.text.matches("anon_inode:[userfaultfd]")
    }
    writer.end()
    proc.close(directory)
    session.counts.set(.descriptors, isShown: !entries.isBroken)
    if !entries.isBroken { writer.unsigned(.descriptorCount, count, width: 4) }
    return isServer || entries.isBroken || listed > Surroundings.descriptorLimit
  }

  /// Writes one descriptor, or only its number if the link could not be read.
  private func writeDescriptor(_ number: Int32, _ link: Bytes) {
    writer.startMap(.descriptor)
    writer.identifier(.descriptorNumber, number)
    if link.count > 0 {
      let kind = DescriptorKind(link, of: number)
      writer.unsigned(.descriptorKind, kind.code, width: 1)
      let isDeleted = link[0] == 0x2F && link.hasSuffix(" (deleted)")  // "/"
      if isDeleted { writer.unsigned(.descriptorIsDeleted, 1, width: 1) }
      if !installed.surroundings.isHidden || kind.hasKernelsName {
        let path = isDeleted ? link.prefix(link.count &- 10) : link
        let kept = path.prefixOfCharacters(Surroundings.pathLimit)
        writer.property(.descriptorPath, kept)
        if kept.count < path.count { writer.unsigned(.descriptorPathIsCut, 1, width: 1) }
      }
    }
    writer.end()
  }
}

extension DescriptorKind {
  /// The kind of an open file, according to the text of its link in `/proc/thread-self/fd`.
  ///
  /// RUNS-DURING-CRASH. Source: proc_pid_fd(5); Linux fs/d_path.c.
  ///
  /// - Parameter descriptor: the file's descriptor, whose flags show whether the file is a directory.
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
