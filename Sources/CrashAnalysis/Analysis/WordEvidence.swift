internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

extension FaultSite {
  /// Finds evidence for the cause in the words that were involved in the fault.
  ///
  /// Such words are, for example, the faulting address, a register that holds null or an impossible address, and the
  /// reference that was passed to a function of the Swift runtime.
  func wordEvidence(of cause: Cause) -> [Evidence] {
    var evidence: [Evidence] = []
    if let (function, address) = countedObject {
      evidence.append(
        address < Self.leastObject
          ? .countedNoValue(function: function, address)
          : .countedNoObject(function: function, address))
    } else if let object = freedObject {
      evidence.append(.countedFreedObject(object))
    } else if !cause.isReturn, let (register, address) = usedFreedMemory {
      evidence.append(.usedFreedMemory(register: register, address))
    } else if let missing = missingDeinitializer {
      evidence.append(missing)
    }
    if evidence.allSatisfy(\.isOfNoObject), !cause.isReturn, let object = foreignSelf {
      evidence.append(.foreignSelf(object))
    }
    switch cause {
    case .nullDereference(_, let address):
      // If Swift code uses a null reference without a check, it accesses the property at null plus an offset, so the
      // register that holds null is evidence.
      if isInSwift,
        case .null(let register, let offset) = NullBase(at: address, exception, code),
        offset >= Self.firstProperty, !hasNullMetadata
      {
        evidence.append(.nullBase(register: register, offset: offset))
      }
    case .impossibleAddress(_, let address), .unmappedMemory(_, let address, _, _):
      if let (pattern, offset) = WordPattern.below(address) {
        evidence.append(.pattern(pattern, register: nil, offset: offset))
      }
    case .generalProtection(let registers):
      let found = registers.compactMap { register in
        WordPattern.below(Address(register.value)).map { (register.name, $0.pattern, $0.offset) }
      }
      // Often several registers hold parts of the same value. A fill pattern is preferred to text, because parts of a
      // fill pattern may look like text.
      if let (name, pattern, offset) = found.first(where: { $0.1.isFill }) ?? found.first {
        evidence.append(.pattern(pattern, register: name, offset: offset))
      }
    default: break
    }
    return evidence
  }

  /// The lowest address that an object can have; smaller values stand for enum cases that have no object.
  ///
  /// Source: swift stdlib/public/SwiftShims/swift/shims/System.h, SWIFT_ABI_DEFAULT_LEAST_VALID_POINTER.
  private static let leastObject: Address = 4096
  /// The bits of a reference that contain the address of an object.
  ///
  /// Source: swift stdlib/public/SwiftShims/swift/shims/System.h, SWIFT_ABI_X86_64_SWIFT_SPARE_BITS_MASK.
  private static let referenceBits: UInt64 = 0x00FF_FFFF_FFFF_FFF8
  /// The offset in bytes of the first property in an object.
  private static let firstProperty: UInt64 = 16

  /// True for a fault in Swift code outside the types of the standard library, which do not use null as an object.
  private var isInSwift: Bool {
    let symbol = trace.frames.first { !$0.isInlined }?.linkageName
    return symbol.map { ($0.hasPrefix("$s") || $0.hasPrefix("$S")) && !$0.hasPrefix("$ss") }
      ?? false
  }

  /// True if a register contains the address of a null word in writable memory outside the stack, and this address is
  /// a multiple of 16.
  ///
  /// The program may have read the null from there: the memory may be a freed object, whose first word contained the
  /// address of the object's metadata before.
  private var hasNullMetadata: Bool {
    guard let context = exception.context else { return false }
    let stack = snapshot.mapping(containing: context.stackPointer)
    return context.generalRegisters.contains { register in
      let address = Address(register.value)
      guard address.value & 15 == 0, snapshot.memory.word(at: address) == 0,
        let mapping = snapshot.mapping(containing: address)
      else { return false }
      return mapping.protection.contains(.write) && mapping != stack
    }
  }

  /// The reference-counting function and its argument, if the function faulted when it accessed the argument.
  ///
  /// The reference count is the second word of an object, so the function faults at the argument's address or 8 bytes
  /// above it.
  private var countedObject: (function: String, Address)? {
    let names = trace.frames.prefix(3).compactMap(\.linkageName)
    guard
      let function = names.lazy.compactMap(ReferenceCounting.function).first,
      let context = exception.context,
      let argument = context.generalRegisters.first(where: { $0.name == "rdi" || $0.name == "x0" })
    else { return nil }
    let object = Address(argument.value)
    guard object.value > 0, argument.value != IntermediateDumpFormat.replacedWord else {
      return nil
    }
    if exception.code == ExceptionSnapshot.kernelCode {
      return snapshot.isCanonical(object) ? nil : (function, object)
    }
    // The runtime may clear bits that are not part of the address before it uses the reference, so both addresses are
    // compared.
    let reference = Address(object.value & Self.referenceBits)
    guard let address = exception.address,
      [object, object &+ 8, reference, reference &+ 8].contains(address)
    else { return nil }
    return (function, object)
  }
}

extension FaultSite {
  /// The evidence that the runtime was about to deinitialize an object whose metadata has no deinitializer.
  ///
  /// The runtime either faulted when it read the deinitializer's address, or called a wrong address, which is the
  /// address of data or of another function.
  ///
  /// Source: swift stdlib/public/runtime/HeapObject.cpp, `_swift_release_dealloc`.
  private var missingDeinitializer: Evidence? {
    let frames = trace.frames.prefix(4)
    guard let place = frames.firstIndex(where: { $0.linkageName == "_swift_release_dealloc" }),
      let context = exception.context
    else { return nil }
    if place > 0 {
      let called = frames[place - 1]
      if let name = called.linkageName {
        // The name of a deallocating deinitializer ends in "fD", or in "fDTm" if the compiler has merged several.
        guard name.hasPrefix("$s"), !name.hasSuffix("fD"), !name.hasSuffix("fDTm") else {
          return nil
        }
        return .noDeinitializer(nil)
      }
      // Code without a name may be a deinitializer, so its call is evidence only if its memory is not executable.
      guard place == 1,
        snapshot.mapping(containing: context.instructionPointer)?.protection.contains(.execute)
          != true
      else { return nil }
    }
    let argument = context.generalRegisters.first { $0.name == "rdi" || $0.name == "x0" }
    guard let object = argument.map({ Address($0.value) }), object >= Self.leastObject,
      object.value & 7 == 0, object.value != IntermediateDumpFormat.replacedWord
    else { return .noDeinitializer(nil) }
    return .noDeinitializer(object)
  }
}

extension Cause {
  fileprivate var isReturn: Bool {
    if case .overwrittenReturn = self { true } else { false }
  }
}

extension Evidence {
  /// True if the evidence is about a word that is no object, so that the object that contained the word may explain it.
  fileprivate var isOfNoObject: Bool {
    switch self {
    case .countedNoObject, .countedNoValue: true
    default: false
    }
  }
}
