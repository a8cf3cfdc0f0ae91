/// Walks from the handler's entries to every function that they can reach in a linked program.
struct CallGraphAudit {
  /// Something on the crash path that the list does not allow.
  struct Violation: CustomStringConvertible {
    let function: String
    let what: String
    var description: String { "\(function): \(what)" }
  }

  let disassembly: Disassembly
  let allowed: AllowedCalls
  /// The function that binds, before any crash, the symbols that a crash may call through the PLT.
  let binder: String
  private var bound: Set<String> = []
  private(set) var reached: Set<String> = []
  private(set) var violations: [Violation] = []
  /// The addresses of the instructions of all functions that were reached.
  private(set) var addresses: [UInt64] = []
  /// Entries of the list that were needed.
  private(set) var used: Set<String> = []

  init(_ disassembly: Disassembly, allowed: AllowedCalls, binder: String = "pm_bind_now") {
    self.disassembly = disassembly
    self.allowed = allowed
    self.binder = binder
  }

  /// True for functions that are the handler's own.
  static func isOwn(_ name: String) -> Bool {
    ["$s12CrashHandler", "$s12PendingDumps", "$s16IntermediateDump", "pm_"]
      .contains { name.hasPrefix($0) }
  }

  mutating func walk(from roots: [String]) throws {
    bound = try disassembly.functions([binder])[binder]?.lateBound ?? []
    var pending = Set(roots)
    while !pending.isEmpty {
      let batch = pending.subtracting(reached)
      pending = []
      reached.formUnion(batch)
      let functions = try disassembly.functions(batch)
      for name in batch.sorted() {
        guard let function = functions[name] else {
          violations.append(Violation(function: name, what: "is not in the program"))
          continue
        }
        addresses += function.addresses
        for instruction in function.threadLocal {
          violations.append(Violation(function: name, what: "thread-local: \(instruction)"))
        }
        if !function.indirect.isEmpty, !allows(name, .indirect) {
          violations.append(Violation(function: name, what: "indirect: \(function.indirect[0])"))
        }
        for callee in function.callees.sorted() {
          if Self.isOwn(callee) || allows(callee, .follow) {
            pending.insert(callee)
          } else if allows(callee, .stop) {
            if function.lateBound.contains(callee), !bound.contains(callee) {
              violations.append(Violation(function: name, what: "binds \(callee) in a crash"))
            }
          } else if !allows(callee, .never) {
            violations.append(Violation(function: name, what: "calls \(callee)"))
          }
        }
      }
    }
  }

  private mutating func allows(_ name: String, _ rule: AllowedCalls.Rule) -> Bool {
    guard let entry = allowed.entries.first(where: { $0.rule == rule && $0.matches(name) }) else {
      return false
    }
    used.insert(entry.symbol)
    return true
  }
}
