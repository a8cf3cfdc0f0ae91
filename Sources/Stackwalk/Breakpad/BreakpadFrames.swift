internal import ProcessSnapshot

/// Writes the STACK CFI INIT and STACK CFI records of a module, which contain the unwind rules.
///
/// A rule that is needed but cannot be expressed ends the current group of records. For code after this group, Breakpad
/// then uses other unwind methods instead of the rule for an earlier instruction.
struct BreakpadFrames {
  /// The maximum number of records in a group, including the INIT record; a group is kept in memory until the size that
  /// INIT needs is known.
  private static let maximumRecords = 4096

  let map: RegisterMap
  let expressions: BreakpadExpression
  let base: Address
  let limit: WorkLimit

  /// Returns nil for an architecture other than x86_64 and arm64.
  init?(of machine: BreakpadMachine, base: Address, _ limit: WorkLimit) {
    guard let architecture = machine.architecture else { return nil }
    map = RegisterMap(architecture)
    expressions = BreakpadExpression(registers: machine.registers)
    self.base = base
    self.limit = limit
  }

  func write(_ table: CFITable, to output: inout BreakpadOutput) {
    var group = Group()
    table.visitDescriptions { fde in
      CFIProgram.visitRows(of: fde, registerCount: map.count, limit) { range, row in
        guard let rules = row.flatMap(rules) else { return finish(&group, to: &output) }
        add(rules, range, to: &group, &output)
      }
      finish(&group, to: &output)
    }
  }

  /// One INIT record and the STACK CFI records that follow it.
  private struct Group {
    var range: AddressRange?
    var records: [String] = []
    /// The expressions of the latest row: one for the CFA, one for the return address, then one for each register.
    var rules: [String?] = []
  }

  private func name(_ column: Int) -> String {
    column == 0 ? ".cfa" : column == 1 ? ".ra" : expressions.registers[column - 2]
  }

  /// Returns the expressions of all rules of a row; nil if a needed rule cannot be expressed.
  private func rules(_ row: CFIRow) -> [String?]? {
    guard let cfa = expressions.text(row.cfa) else { return nil }
    let column = row.returnAddressRegister
    let number = UInt64(column)
    let address =
      switch row.rules[column] {
      // The function is the outermost one; a return address of 0 ends the walk.
      case .undefined: "0"
      case .unspecified: column == map.linkRegister ? expressions.name(number) : nil
      case let rule: expressions.text(rule, of: number)
      }
    guard let address else { return nil }
    var rules: [String?] = [cfa, address]
    for register in 0..<min(map.count, expressions.registers.count) {
      let rule = row.rules[register]
      guard register != column, expressions.name(UInt64(register)) != nil else {
        rules.append(nil)
        continue
      }
      let text = expressions.text(rule, of: UInt64(register))
      // If the location of a saved register cannot be expressed, the row is dropped, so that readers do not treat the
      // register as unchanged.
      if text == nil, rule != .unspecified, map.isPreserved(register) { return nil }
      rules.append(rule == .sameValue ? nil : text)
    }
    return rules
  }

  private func add(
    _ rules: [String?], _ range: AddressRange, to group: inout Group, _ output: inout BreakpadOutput
  ) {
    var changes: [String] = []
    if let known = group.range, known.clampedEnd == range.start,
      group.records.count < Self.maximumRecords
    {
      var isExpressible = true
      for (column, rule) in rules.enumerated() where rule != group.rules[column] {
        if let rule {
          changes.append("\(name(column)): \(rule)")
        } else if column > 1, map.isPreserved(column - 2) {
          changes.append("\(name(column)): \(name(column))")
        } else {
          isExpressible = false
        }
      }
      if isExpressible {
        group.range = AddressRange(from: known.start, to: range.clampedEnd)
        group.rules = rules
        guard !changes.isEmpty else { return }
        group.records.append(
          "STACK CFI \(range.start.record(base)) " + changes.joined(separator: " "))
        return
      }
    }
    finish(&group, to: &output)
    group.range = range
    group.rules = rules
    group.records = [
      rules.enumerated().compactMap { column, rule in rule.map { "\(name(column)): \($0)" } }
        .joined(separator: " ")
    ]
  }

  private func finish(_ group: inout Group, to output: inout BreakpadOutput) {
    guard let range = group.range else { return }
    output.addLine("STACK CFI INIT \(range.record(base)) \(group.records[0])")
    for record in group.records.dropFirst() { output.addLine(record) }
    group.range = nil
  }
}
