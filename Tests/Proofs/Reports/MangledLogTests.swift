import CrashCatalogue
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// Logs as programs that collect logs change them: no frame is at a wrong number, no whole report is lost, and no two
/// reports become one.
@Suite struct MangledLogTests {
  private static let rounds = ProofExtent.isFullOfReports ? 4000 : 400

  /// A report as it is before the log is changed.
  private struct Whole {
    let dump: LoggedDump
    let lines: [String]
    let frames: [Address]

    init(_ log: String, _ symbols: SymbolSource) throws {
      lines = log.split(separator: "\n").map(String.init).filter { $0.hasPrefix("postmortem") }
      dump = try #require(try LoggedReport.dumps(in: log).first)
      frames = try MangledLogTests.frames(of: dump, symbols)
    }
  }

  private static func frames(of dump: LoggedDump, _ symbols: SymbolSource) throws -> [Address] {
    let snapshot = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
    guard let thread = snapshot.crashedThread else { return [] }
    return Stackwalker(snapshot: snapshot, symbols: symbols).frames(of: thread, limit: 400)
      .filter { !$0.isInlined && $0.trust != .tailCall }.map(\.address)
  }

  @Test func aChangedLogMakesNoWrongReport() async throws {
    // The files of the modules are read only once.
    let symbols = SymbolSource()
    var wholes: [Whole] = []
    for kind in ["abort", "null-read", "deep", "cxx-exception"] {
      let victim = try await Victim(.asTested)
      wholes.append(try Whole(try await victim.die(kind, on: .main).standardError, symbols))
    }
    var numbers = SystemRandomNumberGenerator()
    let seed = numbers.next()
    var source = Numbers(state: seed)
    var (lost, cut) = (0, 0)
    for round in 0..<Self.rounds {
      var mangler = Mangler(numbers: source)
      let bytes = mangler.mangle(wholes.map(\.lines))
      source = mangler.numbers
      var reader = LoggedDumpReader()
      for start in stride(from: 0, to: bytes.count, by: 777) {
        reader.take(bytes[start..<min(start + 777, bytes.count)])
      }
      let found = reader.takeFinished() + reader.finish().dumps
      let name = "round \(round) of \(seed), \(mangler.deeds)"
      #expect(Set(found.map(\.reportDigits)).count == found.count, "\(name)")
      for (index, whole) in wholes.enumerated() {
        let dump = found.first { $0.reportDigits == whole.dump.reportDigits }
        let kept = mangler.kept[index]
        #expect(dump.map { Set($0.pieces.keys) } ?? [] == kept, "\(name)")
        guard let dump else { continue }
        #expect(dump.pieces.allSatisfy { whole.dump.pieces[$0] == $1 }, "\(name)")
        if dump.isComplete {
          #expect(dump == whole.dump, "\(name)")
        } else {
          let frames = try Self.frames(of: dump, symbols)
          #expect(frames == Array(whole.frames.prefix(frames.count)), "\(name)")
          #expect(Set(dump.missing).union(dump.damaged) == Set(1...dump.count).subtracting(kept))
          cut += 1
        }
        lost += dump.isComplete ? 0 : 1
      }
    }
    #expect(cut > Self.rounds / 10 && lost < Self.rounds * wholes.count)
  }
}

/// Random numbers that a seed repeats.
///
/// Source: splitmix64.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}

/// Changes the lines of several processes as programs that collect logs do.
private struct Mangler {
  var numbers: Numbers
  private(set) var deeds: [String] = []
  /// The numbers of the pieces of each process of which a whole copy is left.
  private(set) var kept: [Set<Int>] = []

  init(numbers: Numbers) { self.numbers = numbers }

  private static let joints = [
    "\n", "\r\n", "\r", " ", "", "\\n", "\\\\n", "#012", "\t", "\\r\\n", ", ", "\u{2028}",
  ]
  private static let colors = [
    "\u{1B}[31m", "\u{1B}[01;31m\u{1B}[K", "\u{1B}(B", "#033[0m", "\\u001b[1m", "\\x1b[38;5;1m",
  ]

  private struct Line {
    var text: String
    /// The process and the number of the piece; nil for a line for people.
    var piece: (process: Int, number: Int)?
  }

  mutating func mangle(_ processes: [[String]]) -> [UInt8] {
    var lines = processes.enumerated().flatMap { process, lines in
      lines.map { line in
        Line(
          text: line,
          piece: line.firstMatch(of: /-([1-6])of[1-6]-/).flatMap { match in
            Int(match.1).map { (process, $0) }
          })
      }
    }
    if Bool.random(using: &numbers) {
      deeds.append("drops")
      lines.removeAll { _ in Int.random(in: 0..<12, using: &numbers) == 0 }
    }
    if Bool.random(using: &numbers) {
      deeds.append("doubles")
      lines += lines.filter { _ in Int.random(in: 0..<4, using: &numbers) == 0 }
    }
    if Bool.random(using: &numbers) {
      deeds.append("shuffled")
      lines.shuffle(using: &numbers)
    }
    let cut = Bool.random(using: &numbers) ? Int.random(in: 100...16_384, using: &numbers) : .max
    deeds.append("cut at \(cut)")
    let form = Int.random(in: 0..<8, using: &numbers)
    deeds.append("form \(form)")
    let joint = Self.joints.randomElement(using: &numbers) ?? "\n"
    deeds.append("joint \(joint.debugDescription)")
    let all = lines
    var text = ""
    // Lines are joined in groups, and a group is one line of the log, of which only the beginning may be kept.
    while !lines.isEmpty {
      let count = form == 0 ? Int.random(in: 1...40, using: &numbers) : 1
      var group = ""
      for line in lines.prefix(count) {
        let color = form == 1 ? Self.colors.randomElement(using: &numbers) ?? "" : ""
        group +=
          line.text.replacing("postmortem", with: color + "postmortem" + color)
          + (count > 1 ? joint : "")
      }
      lines.removeFirst(min(count, lines.count))
      let whole = Array(wrapped(group, form).utf8)
      text += String(decoding: whole.prefix(cut), as: UTF8.self) + (form == 0 ? "\n" : joint)
    }
    let plain = Self.colors.reduce(text) { $0.replacing($1, with: "") }
    kept = processes.map { _ in [] }
    for line in all {
      guard let piece = line.piece, plain.range(of: line.text, options: .literal) != nil else {
        continue
      }
      kept[piece.process].insert(piece.number)
    }
    if form == 7 {
      deeds.append("UTF-16")
      return [0xFF, 0xFE] + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    }
    return Array(text.utf8)
  }

  /// A line in one of the forms in which logs are stored.
  private func wrapped(_ line: String, _ form: Int) -> String {
    switch form {
    case 2: return JSONText.object(["log": line + "\n", "stream": "stderr"])
    case 3: return JSONText.object(["line": JSONText.object(["message": line])])
    case 4: return #"time=2026-11-28T22:00:00Z level=error msg=\#(JSONText.quoted(line)) pid=1"#
    case 5: return "\"2026-11-28\",\"" + line.replacing("\"", with: "\"\"") + "\",7"
    case 6: return "2026-11-28T22:00:00.123456789Z stderr F web-1 | \(line)"
    default: return line
    }
  }
}

/// Text as JSON encodes it.
private enum JSONText {
  static func quoted(_ text: String) -> String {
    let data = try? JSONEncoder().encode([text])
    return String(String(decoding: data ?? Data(), as: UTF8.self).dropFirst().dropLast())
  }

  static func object(_ fields: KeyValuePairs<String, String>) -> String {
    "{" + fields.map { "\(quoted($0)):\(quoted($1))" }.joined(separator: ",") + "}"
  }
}
