/// A section that the handler captures; bit n of the key `sectionsAbandoned` stands for raw value n.
///
/// Never renumber a value, and never reuse a number that a released version of this file has used. `Section` defines
/// the order in which the handler writes the sections.
package enum DumpSection: UInt8, CaseIterable, Sendable {
  case exception = 1
  case stopThreads = 2
  case readMappings = 3
  case crashingThread = 4
  case process = 5
  case mappings = 6
  case modules = 7
  case systemAndAnnotations = 8
  case threads = 9
  /// The section that lists the other sections that failed.
  ///
  /// The handler never sets this section's bit in `sectionsAbandoned`. A reader sets the bit if the dump lacks this
  /// section's data.
  case capture = 10
  case resources = 11
  case linkMap = 12
  case summary = 13
  case standardError = 14
  case removeHangDumps = 15
  case client = 16
  case extraMemory = 17
  case cxxException = 18
  case tasks = 19
  case crashingThreadTop = 20
  case contexts = 21
  case throwRecords = 22
  case surroundings = 23
  case pointedMemory = 24
  case objects = 25

  package var bit: UInt64 { @_noLocks get { 1 &<< UInt64(rawValue) } }
}
