/// The secrets that crash-lab's `--plant` places in memory, and ways to find them.
struct PlantedSecrets {
  /// The text has no words that reports contain anyway, such as "work" in paths.
  static let path = "rN7-path-Gw3Hv"
  static let argument = "rV8-Aw6qJs-Bx4Tn9"
  /// The value of an environment variable.
  static let environment = "eV6-env-Lq7Wc3Tz"
  /// The secrets in the files of crash-lab and of the module that it loads: constants, variables and code, to which
  /// neither registers nor stacks point.
  static let inFiles = [
    "iC4-const-Hz6Bn8Vd", "iD7-data-Kw5Rm2Xp", "iT9-text-Gc4Jf6Qs", "jR2-cns-Wd6Km9Tz",
    "nD4-vrb-Qx3Vt8Lk", "tX7-text-Bz5Hp2Lk", "sE9-sct-Gf4Nw6Rp",
  ]
  static let attached = "fT5-file-Rz8Kb4Wn"
  /// In the name of a file that the program locks.
  static let locked = "lK4-lkd-Rt9Yb2Gs"
  /// The context and the breadcrumb of another request than the one that crashes.
  static let otherWork = ["oW8-other-Jm3Ks7Vq", "oC2-wk7-Pn6Xt4Rb"]
  /// The secrets that the program passes to `dumpWithoutCrash` and to the monitor.
  private static let inRequests = [
    "eR3-error-Vk8Tz5Nd", "rS6-reason-Wp4Hc9", "aN8-note-Jd5Qs3Xm", "hM4-loop-Gx7Rb2",
  ]
  private static let texts =
    [
      "zQ9-fatal-Xw4Kp7", "yT3-crumb-Vb8Hn2", "kJ5-simple-Mz6Rd1", "hG7-typed-Lc9Wf3",
      "pS2-name-Tk5Bq", "eN8-heap-Yr4Jm6-battery-staple", "dA6-15byte-Qv3X", "uB4-regs",
      "fC9-local-Zs7Gx5", "sk_live_wE5-stack-Nd2Lk8", "4111222233334444", "xM3-vector-Hp6Cj",
      "bQ7-cT8xt-Tw2Jr5", "vF8-wK5cR9mb-Kp3Xd", path,
      argument, environment, attached, locked,
    ] + inObjects + inFiles + otherWork + inRequests
  /// The secrets in Swift objects: in fields, strings, arrays, bytes, dictionaries and captures.
  static let inObjects = [
    "oB6-fd-Rj4Wn8Cv", "iF3-Hx5-Lw9Qz", "aR4-ay-Kx7PdMb", "bY5-bt-Hn3Vt6Ks",
    "dT9-vl-Gm8ZcQd", "cL2-ctx-Yb6FsPq7", "dA8-dt-Pw6Kj3VsNg",
    // Secrets in memory that looks like an object's reference count and metadata.
    "wM7-cnt1", "mD4-meta-Zk9Xw2LpQ8-Jv5B", "gA6-Ty3R",
  ]
  private static let numbers: [UInt64] = [4_111_222_233_334_444, 7391]

  /// Each sequence of eight bytes within a secret, and the secret that contains it.
  private var pieces: [UInt64: String] = [:]

  init() {
    for number in Self.numbers { pieces[number] = "\(number)" }
    for text in Self.texts {
      let wide = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
      for bytes in [Array(text.utf8), wide] {
        for start in 0...(bytes.count - 8) {
          pieces[bytes[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }] = text
        }
      }
    }
  }

  /// The secrets of which at least eight consecutive bytes are found.
  func found(inBytes bytes: [UInt8]) -> Set<String> {
    var found: Set<String> = []
    var word: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      word = word >> 8 | UInt64(byte) << 56
      if index >= 7, let text = pieces[word] { found.insert(text) }
    }
    return found
  }

  /// The same for a text, which may also contain the secrets' words as hexadecimal numbers.
  func found(inText text: String) -> Set<String> {
    var found = found(inBytes: Array(text.utf8))
    var number: UInt64 = 0
    var digits = 0
    func end() {
      // Short numbers are offsets and lengths.
      if digits >= 8 || number == 7391, let text = pieces[number] { found.insert(text) }
      (number, digits) = (0, 0)
    }
    for byte in text.utf8 {
      guard let digit = Character(UnicodeScalar(byte)).hexDigitValue, digits < 16 else {
        end()
        continue
      }
      number = number << 4 | UInt64(digit)
      digits += 1
    }
    end()
    return found
  }
}
