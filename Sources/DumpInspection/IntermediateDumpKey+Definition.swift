package import IntermediateDump

extension IntermediateDumpKey {
  /// A row of the schema, which describes one key.
  package struct Definition: Sendable {
    package let kind: IntermediateDumpKeyKind
    /// The number of bytes of the value as it is written; nil for any size.
    ///
    /// Readers accept numbers of 1, 2, 4 and 8 bytes.
    package let size: Int?
    package let meaning: String
    /// The words for the values of a key whose numbers are codes; empty for any other key.
    package let words: [String]
    /// How a report shows the value; nil if separate code shows the value, or if reports do not show it.
    package private(set) var fact: ReportNames?
    /// The number of the fact's field in the index of a database, and the names of the fact in exports; nil if the
    /// index does not contain the fact.
    package private(set) var listed: IndexNames?

    /// Makes reports show the value unchanged.
    ///
    /// - Parameters:
    ///   - name: the name in JSON.
    ///   - label: the label in the text and HTML formats of a report; nil if these formats show the value in another
    ///     way.
    func shown(
      in places: ReportNames.Place..., as name: String, _ label: String? = nil,
      unit: ReportNames.Unit = .plain
    ) -> Self {
      var row = self
      row.fact = ReportNames(places: places, name: name, label: label, unit: unit)
      return row
    }

    /// Makes the index of a database store the key's value, and gives the value its names in exports.
    ///
    /// `ExportColumn.all` and `OTLPLine` choose which of these values an export contains.
    ///
    /// - Parameters:
    ///   - field: the number of the field in a record of the index.
    ///   - column: the name of the fact's column in `postmortem export`; nil if the fact has none.
    ///   - meaning: the meaning of this column.
    ///   - attribute: the name of the attribute in OTLP.
    func listed(
      _ field: UInt8, as column: String? = nil, _ kind: IndexNames.Column.Kind = .text,
      _ meaning: String = "", attribute: String? = nil
    ) -> Self {
      var row = self
      row.listed = IndexNames(
        field: field,
        column: column.map { IndexNames.Column(name: $0, kind: kind, meaning: meaning) },
        attribute: attribute)
      return row
    }

    private init(
      _ kind: IntermediateDumpKeyKind, _ size: Int?, _ meaning: String, words: [String] = []
    ) {
      (self.kind, self.size, self.meaning, self.words) = (kind, size, meaning, words)
    }

    /// Describes a key whose value is a number that stands for a case of the type `Code`.
    ///
    /// - Parameters:
    ///   - meaning: the meaning of the key, to which the values and their words are added.
    ///   - remarks: further sentences for the description.
    static func code<Code: DumpCode>(
      _ type: Code.Type, _ meaning: String, _ remarks: String = ""
    ) -> Self {
      .init(
        .unsigned, Code.RawValue.bitWidth / 8,
        "\(meaning): \(type.list).\(remarks.isEmpty ? "" : " ")\(remarks)",
        words: Code.allCases.map(\.word))
    }

    static func map(_ meaning: String) -> Self { .init(.map, nil, meaning) }
    static func array(_ meaning: String) -> Self { .init(.array, nil, meaning) }
    static func text(_ meaning: String) -> Self { .init(.text, nil, meaning) }
    static func time(_ meaning: String) -> Self { .init(.time, 8, meaning) }
    static func address(_ meaning: String) -> Self { .init(.address, 8, meaning) }
    static func signed(_ size: Int, _ meaning: String) -> Self {
      .init(.signed, size, meaning)
    }
    static func unsigned(_ size: Int, _ meaning: String) -> Self {
      .init(.unsigned, size, meaning)
    }
    static func bytes(_ meaning: String) -> Self { .init(.bytes, nil, meaning) }
    static func bytes(_ size: Int, _ meaning: String) -> Self {
      .init(.bytes, size, meaning)
    }
  }
}

extension DumpCode {
  /// The values in words, such as "1 crash, 2 stopped".
  static var list: String {
    allCases.map { "\($0.rawValue) \($0.word)" }.joined(separator: ", ")
  }
}
