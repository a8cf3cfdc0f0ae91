extension CrashReport {
  /// One thread and its stack.
  public struct Thread: Codable, Sendable, Equatable {
    /// The kernel's thread ID.
    public var id: UInt32
    public var name: String?
    /// True for the thread that took the signal.
    public var crashed: Bool
    /// How its registers were had: "crash", "stopped", "also-crashed", "kernel" or "none".
    public var capturedBy: String?
    /// The state letter of proc(5) before it was stopped.
    public var state: String?
    /// The system call that it was blocked in.
    public var systemCall: SystemCall?
    /// "other", "fifo", "rr", "batch", "idle" or "deadline".
    public var schedulingPolicy: String?
    /// -20 to 19.
    public var niceValue: Int32?
    /// By the names debuggers use; empty where they were not captured.
    public var registers: [String: HexAddress]
    /// Innermost first.
    public var frames: [Frame]
    /// Frames in the middle of a deep stack that are not listed.
    public var framesOmitted: Int
    /// How many of `frames` come before the omitted ones.
    public var framesOmittedAfter: Int
    /// True if a part of the stack is not in the dump, so that frames are missing that no count
    /// has.
    public var stackGap: Bool
    /// Why `frames` ends: "bottom" where the first function was reached, else "lost", "limit" or
    /// "noContext".
    public var stackEnd: String
    /// Bytes of the stack that a cap or a fault left out of the dump.
    public var stackBytesOmitted: UInt64?
    /// The longest recursion on the stack.
    public var recursion: Recursion?
    /// The task of Swift concurrency that it ran.
    public var task: Task?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(name, forKey: .name)
      try container.encode(crashed, forKey: .crashed)
      try container.encode(capturedBy, forKey: .capturedBy)
      try container.encode(state, forKey: .state)
      try container.encode(systemCall, forKey: .systemCall)
      try container.encode(schedulingPolicy, forKey: .schedulingPolicy)
      try container.encode(niceValue, forKey: .niceValue)
      try container.encode(registers, forKey: .registers)
      try container.encode(frames, forKey: .frames)
      try container.encode(framesOmitted, forKey: .framesOmitted)
      try container.encode(framesOmittedAfter, forKey: .framesOmittedAfter)
      try container.encode(stackGap, forKey: .stackGap)
      try container.encode(stackEnd, forKey: .stackEnd)
      try container.encode(stackBytesOmitted, forKey: .stackBytesOmitted)
      try container.encode(recursion, forKey: .recursion)
      try container.encode(task, forKey: .task)
    }
  }

  /// A part of a stack in which the same few functions call each other in turn.
  public struct Recursion: Codable, Sendable, Equatable {
    /// How many functions take turns.
    public var period: Int
    /// How many frames are further in; neither here nor in `count` are inlined calls counted.
    public var first: Int
    /// Frames that were walked in it, listed or not.
    public var count: Int
    /// About how many more lie in a part of the stack that is not in the dump.
    public var estimatedInGap: Int?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(period, forKey: .period)
      try container.encode(first, forKey: .first)
      try container.encode(count, forKey: .count)
      try container.encode(estimatedInGap, forKey: .estimatedInGap)
    }
  }
}

extension CrashReport {
  /// One call on a stack.
  public struct Frame: Codable, Sendable, Equatable {
    /// Where execution is, or returns to.
    public var address: HexAddress
    /// The file name of the module.
    public var module: String?
    /// `address` minus the module's base.
    public var moduleOffset: HexAddress?
    /// The function's name, demangled.
    public var function: String?
    /// The function's linkage name.
    public var symbol: String?
    /// `address` minus the function's start.
    public var functionOffset: HexAddress?
    /// The source file.
    public var file: String?
    public var line: Int?
    public var column: Int?
    /// Whether no line stands for the code itself, and `line` is the last one in front of it.
    public var lineApproximate: Bool?
    /// Whether this call was inlined into the next frame.
    public var inlined: Bool?
    /// Whether names and lines were stored with the report and not read from the module's file.
    public var storedAtConversion: Bool?
    /// How the frame was found; a word of `FrameTrust`.
    public var trust: String

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(address, forKey: .address)
      try container.encode(module, forKey: .module)
      try container.encode(moduleOffset, forKey: .moduleOffset)
      try container.encode(function, forKey: .function)
      try container.encode(symbol, forKey: .symbol)
      try container.encode(functionOffset, forKey: .functionOffset)
      try container.encode(file, forKey: .file)
      try container.encode(line, forKey: .line)
      try container.encode(column, forKey: .column)
      try container.encode(lineApproximate, forKey: .lineApproximate)
      try container.encode(inlined, forKey: .inlined)
      try container.encode(storedAtConversion, forKey: .storedAtConversion)
      try container.encode(trust, forKey: .trust)
    }
  }
}
