internal import CCrashLab
internal import Glibc
internal import Postmortem

/// Secrets of a program, none of which may be in a report that leaves secrets out.
///
/// `Tests/Proofs/Privacy/PlantedSecretsTests.swift` looks for the same secrets.
enum Secrets {
  @TaskLocal private static var session = ""
  private static let query = Annotation<String>("query", capacity: 64)

  /// The text of `fatalError`; nil if none is planted.
  static var message: String? {
    CommandLine.arguments.contains("--plant") ? "cannot log in with zQ9-fatal-Xw4Kp7" : nil
  }

  /// Runs a crash with all of them in place.
  static func surround(_ crash: @escaping @Sendable () -> Void) {
    leaveBreadcrumb("login with yT3-crumb-Vb8Hn2 failed")
    SimpleAnnotations.set("header", "Bearer kJ5-simple-Mz6Rd1")
    query.set("token=hG7-typed-Lc9Wf3")
    unsafe crashlab_name_thread("pS2-name-Tk5Bq")
    // The file is already deleted: only the list of open descriptors contains its name.
    let path = "/tmp/rN7-path-Gw3Hv-\(getpid())"
    if unsafe open(path, O_CREAT | O_EXCL | O_RDWR, 0o600) >= 0 { unsafe unlink(path) }
    // 256 bytes of the heap, to which a register points.
    let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
    unsafe strcpy(buffer, "password: eN8-heap-Yr4Jm6-battery-staple")
    unsafe ExtraMemory.add(UnsafeRawBufferPointer(start: buffer, count: 256))
    let words = [
      UInt64(UInt(bitPattern: buffer)),
      // A card number, a String of 15 bytes in its in-memory form, and a PIN.
      4_111_222_233_334_444, word("dA6-15by"), word("te-Qv3X") | 0xEF << 56, 7391,
      word("uB4-regs"),
    ]
    let objects = SecretObjects()
    $session.withValue("session fC9-local-Zs7Gx5 of a task") {
      let body = CrashBody(crash)
      withContext("user", "bQ7-cT8xt-Tw2Jr5") {
        leaveBreadcrumb("paying with vF8-wK5cR9mb-Kp3Xd")
        objects.withPointers {
          unsafe crashlab_plant(
            body.function, body.context,
            "sk_live_wE5-stack-Nd2Lk8 4111222233334444", words, "xM3-vector-Hp6Cj")
        }
      }
    }
  }

  /// Eight bytes of text as a register holds them.
  fileprivate static func word(_ text: String) -> UInt64 {
    text.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Secrets in Swift's heap objects: in a field of an object, an array, a dictionary, bytes, and a closure's
/// captured variable.
private final class SecretObjects: Sendable {
  /// A string in its own heap memory, like a string read from a file.
  private static func long(_ text: String) -> String { text + String(repeating: "-", count: 12) }

  let field = long("oB6-fd-Rj4Wn8Cv")
  // Strings of at most 15 bytes lie in the object itself.
  let inside = "iF3-Hx5-Lw9Qz"
  let array = ["aR4-ay-Kx7PdMb", "aR4-ay-Kx7PdMb"]
  let bytes = Array("bY5-bt-Hn3Vt6Ks".utf8)
  let dictionary = ["user": "dT9-vl-Gm8ZcQd"]

  /// Puts pointers to all of these objects on the stack while the body runs.
  func withPointers(_ body: () -> Void) {
    let captured = Self.long("cL2-ctx-Yb6FsPq7")
    let closure: @Sendable () -> Int = { captured.utf8.count + self.bytes.count }
    let context = unsafe unsafeBitCast(Holder(body: closure), to: (UInt64, UInt64).self).1
    let storages = [field, captured].map {
      unsafe unsafeBitCast($0, to: (UInt64, UInt64).self).1 & 0x0FFF_FFFF_FFFF_FFFF
    }
    let almost = unsafe Self.almostObjects(
      like: UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())))
    unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 10) { words in
      unsafe words.initialize(repeating: 0)
      unsafe words[0] = UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
      unsafe words[1] = storages[0]
      unsafe words[2] = storages[1]
      unsafe words[3] = unsafeBitCast(array, to: UInt64.self)
      unsafe words[4] = unsafeBitCast(bytes, to: UInt64.self)
      unsafe words[5] = unsafeBitCast(dictionary, to: UInt64.self)
      unsafe words[6] = context
      unsafe words[7] = UInt64(UInt(bitPattern: almost))
      unsafe words[8] = UInt64(UInt(bitPattern: almost + 4))
      body()
      unsafe say("\(words[0])")
    }
    _ = closure()
  }

  /// Secrets in memory that looks like two objects, but is none; the second begins at the fifth word.
  ///
  /// - Parameter object: the address of an object.
  private static func almostObjects(like object: UInt64) -> UnsafeMutablePointer<UInt64> {
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 16)
    unsafe words.initialize(repeating: 0, count: 16)
    guard let place = unsafe UnsafePointer<UInt64>(bitPattern: UInt(object)) else {
      return unsafe words
    }
    // A pointer to metadata, and a secret that could be a count.
    unsafe words[0] = place[0]
    unsafe words[1] = Secrets.word("wM7-cnt1")
    // A pointer to what could be metadata of a class, with a secret between the words that show it, and in the place
    // of an argument.
    unsafe words[4] = UInt64(UInt(bitPattern: words + 6))
    unsafe words[5] = 3
    for (index, text) in ["mD4-meta", "-Zk9Xw2L", "pQ8-Jv5B"].enumerated() {
      unsafe words[7 + index] = Secrets.word(text)
    }
    unsafe words[10] = 80
    unsafe words[11] = place[0]
    unsafe words[13] = Secrets.word("gA6-Ty3R")
    return unsafe words
  }

  /// Keeps the closure's own context: a generic function would receive the closure in another one.
  private struct Holder { let body: @Sendable () -> Int }
}
