import IntermediateDump
import Testing

@testable import CrashConverter
@testable import PendingDumps

@Suite struct LivenessTests {
  private static let host = HostIdentity(
    bootID: "boot", processNamespace: 7, isProcOurs: true, processID: 1, startTime: 1)
  private static let hour: Int64 = 3600 * 1_000_000_000

  /// The verdict for evidence of a live owner on the same machine, with the test's changes.
  private func verdict(_ change: (inout LivenessEvidence) -> Void) -> OwnerVerdict {
    var evidence = LivenessEvidence(
      .owner, processID: 50, place: .here, process: .found(Self.process()), startTime: 1000,
      stackStart: 0x7000, fifo: .noReader, lease: .granted, isLocalFileSystem: true, age: 0,
      ageLimit: 24 * Self.hour)
    change(&evidence)
    return evidence.verdict
  }

  private func isDead(_ change: (inout LivenessEvidence) -> Void) -> Bool {
    verdict(change).isDead
  }

  private static func process(
    state: String = "S", threads: Int64 = 1, startTime: UInt64 = 1000, stackStart: UInt64 = 0x7000
  ) -> ProcessStatistics {
    ProcessStatistics(
      state: state.utf8.first ?? 0, threadCount: threads, startTime: startTime,
      stackStart: stackStart)
  }

  @Test func withoutAProcessOfItsIDInItsPlaceTheOwnerIsDead() {
    // A child of _Fork may still hold the FIFO.
    for fifo in [.hasReader, .noReader, .missing, .unreadable] as [FIFOProbe] {
      for lease in [.refused, .granted, .unknown] as [RecordLease] {
        for process in [
          .missing, .found(Self.process(state: "Z", stackStart: 0)),
          .found(Self.process(state: "X")),
        ] as [ProcessProbe] {
          #expect(isDead { ($0.process, $0.fifo, $0.lease) = (process, fifo, lease) })
        }
      }
    }
    #expect(
      !isDead { $0.process = .found(Self.process(state: "Z", threads: 2, stackStart: 0)) },
      "only the main thread has ended")
  }

  /// These prove that an owner lives even if start time or boot differ: a restored process has another start
  /// time, and a boot ID can be mounted over.
  @Test func aWitnessOfLifeComesBeforeStartTimeAndBoot() {
    for (fifo, lease) in [(.hasReader, .unknown), (.hasReader, .granted), (.missing, .refused)]
      as [(FIFOProbe, RecordLease)]
    {
      for place in [.here, .sameBoot, .otherBoot, .unknown] as [LivenessEvidence.Place] {
        for isLocal in [true, false] {
          for process in [
            .unreadable, .found(Self.process(startTime: 1001)),
            .found(Self.process(stackStart: 0x8000)),
          ] as [ProcessProbe] {
            #expect(
              !isDead {
                ($0.place, $0.process, $0.fifo, $0.lease) = (place, process, fifo, lease)
                ($0.isLocalFileSystem, $0.age) = (isLocal, .max)
              })
          }
        }
      }
    }
  }

  @Test func inTheSamePlaceTheIdentityDecidesThen() {
    #expect(verdict { _ in } == .alive("process 50 runs"), "close_range can close the FIFO")
    #expect(!isDead { $0.age = .max }, "an owner may live for years")
    #expect(isDead { $0.process = .found(Self.process(startTime: 1001)) })
    #expect(isDead { $0.process = .found(Self.process(stackStart: 0x8000)) }, "exec")
    #expect(!isDead { $0.process = .found(Self.process(stackStart: 0)) }, "not told")
    // In another time namespace, only the start of the stack is compared.
    for change in [
      { $0.startTime = nil },
      {
        $0.startTime = nil; $0.process = .found(Self.process(startTime: 5))
      },
    ] as [(inout LivenessEvidence) -> Void] {
      #expect(!isDead(change))
      #expect(
        isDead {
          change(&$0)
          $0.process = .found(Self.process(startTime: 5, stackStart: 0x8000))
        })
    }
    // Nothing shows whether it is the same process, so the other evidence decides.
    func isDeadUnknown(_ fifo: FIFOProbe, _ lease: RecordLease) -> Bool {
      isDead {
        ($0.startTime, $0.fifo, $0.lease) = (nil, fifo, lease)
        $0.process = .found(Self.process(startTime: 5, stackStart: 0))
      }
    }
    #expect(isDeadUnknown(.noReader, .granted))
    #expect(!isDeadUnknown(.missing, .granted))
    #expect(!isDeadUnknown(.noReader, .unknown))
  }

  @Test func elsewhereInTheSameBootFIFOAndMappingDecideTogether() {
    for change in [{ $0.place = .sameBoot }, { $0.process = .unreadable }]
      as [(inout LivenessEvidence) -> Void]
    {
      for isLocal in [true, false] {
        func isDead(_ fifo: FIFOProbe, _ lease: RecordLease, age: Int64 = 0) -> Bool {
          self.isDead {
            change(&$0)
            ($0.fifo, $0.lease, $0.isLocalFileSystem, $0.age) = (fifo, lease, isLocal, age)
          }
        }
        #expect(isDead(.noReader, .granted))
        // Neither alone proves death: the program may have closed the FIFO, and an overlay hides the lease.
        for (fifo, lease) in [
          (.noReader, .unknown), (.unreadable, .granted), (.unreadable, .unknown),
          (.missing, .granted), (.missing, .unknown),
        ] as [(FIFOProbe, RecordLease)] {
          for (age, dead) in [(0, false), (24 * Self.hour, false), (24 * Self.hour + 1, true)] {
            #expect(isDead(fifo, lease, age: age) == dead)
          }
        }
      }
    }
  }

  @Test func anotherBootIsDeathWhereNoOtherMachineWrites() {
    for fifo in [.noReader, .missing, .unreadable] as [FIFOProbe] {
      #expect(isDead { ($0.place, $0.fifo) = (.otherBoot, fifo) })
      for (age, dead) in [(24 * Self.hour, false), (24 * Self.hour + 1, true), (-1, false)] {
        #expect(
          isDead {
            ($0.place, $0.fifo, $0.isLocalFileSystem, $0.age) = (.otherBoot, fifo, false, age)
          } == dead)
      }
    }
  }

  @Test func withoutAPlaceAgeTells() {
    for isLocal in [true, false] {
      for fifo in [.noReader, .missing, .unreadable] as [FIFOProbe] {
        for (age, dead) in [(0, false), (25 * Self.hour, true)] {
          #expect(
            isDead {
              ($0.place, $0.fifo, $0.isLocalFileSystem, $0.age) = (.unknown, fifo, isLocal, age)
            } == dead, "a program may have closed it")
        }
      }
    }
  }

  /// The place of an owner, computed from its record and this host.
  @Test func placesAreCompared() {
    func place(
      isLocal: Bool = true, _ change: (inout RunRecord, inout HostIdentity) -> Void
    ) -> LivenessEvidence {
      // The record is this process's, so only the comparison is tested.
      var record = RunRecord(
        processID: Self.host.processID, startTime: 1000, stackStart: 0x7000, bootID: "boot",
        processNamespace: 7, launchTime: 1)
      var host = Self.host
      change(&record, &host)
      let name = PendingDumpName(identifier: "app", reportID: ReportID(), role: .locked)!
      return RunRecord.evidence(
        record, of: name, in: -1, host: host, isLocalFileSystem: isLocal, age: 0,
        isOwnIdentifier: true)
    }
    #expect(place { _, _ in }.place == .here)
    for change in [
      { record, _ in record.processNamespace = 8 }, { record, _ in record.processNamespace = nil },
      { _, host in host.isProcOurs = false },
    ] as [(inout RunRecord, inout HostIdentity) -> Void] {
      #expect(place(change).place == .sameBoot)
    }
    #expect(place { record, _ in record.bootID = "other" }.place == .otherBoot)
    #expect(place { _, host in host.bootID = nil }.place == .unknown)
    // Without /proc, an owner does not know its boot ID. If no other machine can write to the directory, the
    // owner is of this boot.
    #expect(place { record, _ in record.bootID = "" }.place == .sameBoot)
    #expect(place(isLocal: false) { record, _ in record.bootID = "" }.place == .unknown)
    // Start times can only be compared within one time namespace.
    #expect(place { _, _ in }.startTime == 1000)
    for (owner, host) in [(1, 2), (1, nil), (nil, 2)] as [(UInt64?, UInt64?)] {
      let evidence = place {
        $0.timeNamespace = owner; $1.timeNamespace = host
      }
      #expect(evidence.startTime == nil && evidence.stackStart == 0x7000)
    }
  }

  @Test func aClaimStandsWhileItsConverterRuns() {
    func isDead(
      processID: UInt32 = 50, place: UInt32 = Self.host.place, age: Int64 = 0,
      _ probe: ProcessProbe = .found(Self.process())
    ) -> Bool {
      ClaimLiveness.verdict(
        processID: processID, startTime: 1000, place: place, host: Self.host, age: age,
        probe: { _ in probe }
      ).isDead
    }
    #expect(!isDead())
    #expect(!isDead(age: .max))
    #expect(isDead(processID: 0))
    #expect(isDead(.missing))
    #expect(isDead(.found(Self.process(startTime: 999))))
    #expect(isDead(.found(Self.process(state: "Z"))))
    #expect(!isDead(.found(Self.process(state: "Z", threads: 3))))
    // For another boot or namespace, or without evidence, the owner counts as dead after an hour, whether the
    // clock went forward or backward.
    for (place, probe) in [(1, .missing), (0, .missing), (Self.host.place, .unreadable)]
      as [(UInt32, ProcessProbe)]
    {
      #expect(!isDead(place: place, age: Self.hour, probe))
      #expect(!isDead(place: place, age: -Self.hour, probe))
      #expect(isDead(place: place, age: Self.hour + 1, probe))
      #expect(isDead(place: place, age: .min, probe))
    }
  }

  @Test func aClaimInAnotherPlaceStandsWhileItsWitnessIsHeld() {
    func verdict(
      _ probe: FIFOProbe, boot: UInt32 = Self.host.boot, isLocal: Bool = true,
      age: Int64 = 0
    ) -> OwnerVerdict {
      ClaimLiveness.verdict(
        processID: 50, startTime: 1000, place: 1,
        witness: PendingDumpName.Witness(boot: boot, number: 5), host: Self.host, age: age,
        isLocalFileSystem: isLocal, probe: { _ in .missing }, witnessProbe: { _ in probe })
    }
    #expect(verdict(.noReader).isDead)
    #expect(verdict(.missing).isDead)
    #expect(!verdict(.hasReader, age: .max).isDead)
    let unseen = "claimed by a process that cannot be seen from here"
    #expect(verdict(.unreadable) == .alive(unseen, still: Self.hour))
    #expect(verdict(.unreadable, age: Self.hour + 1).isDead)
    // A reader of the FIFO is on this kernel, whatever the recorded boot.
    #expect(!verdict(.hasReader, boot: 7).isDead)
    #expect(verdict(.noReader, boot: 7).isDead)
    #expect(!verdict(.noReader, boot: 7, isLocal: false).isDead)
    #expect(verdict(.noReader, boot: 7, isLocal: false, age: Self.hour + 1).isDead)
  }

  @Test func aCallThatIsOverHasNoClaims() {
    for (probe, isDead) in [
      (.noReader, true), (.missing, true), (.hasReader, false), (.unreadable, false),
    ] as [(FIFOProbe, Bool)] {
      for processID in [Self.host.processID, 50] {
        let verdict = ClaimLiveness.verdict(
          processID: processID, startTime: 1000, place: Self.host.place,
          witness: PendingDumpName.Witness(boot: Self.host.boot, number: 5), host: Self.host,
          age: 0, probe: { _ in .found(Self.process()) }, witnessProbe: { _ in probe })
        #expect(verdict.isDead == (isDead && processID == Self.host.processID))
      }
    }
  }

  @Test func theStatFileIsRead() throws {
    // Fields 3 to 29, after a name that contains a closing parenthesis.
    let rest = "Z 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 3 21 123456 23 24 25 26 27 140000 29"
    let text = "42 (a) b) (c) \(rest)\n"
    var expected = ProcessStatistics(
      state: 0x5A, threadCount: 3, startTime: 123456, stackStart: 140000)
    (expected.own.processID, expected.own.terminal, expected.own.residentPages) = (42, 7, 24)
    #expect(ProcessStatistics(statText: Array(text.utf8)) == expected)
    let whole = (30...52).reduce(text.dropLast()) { "\($0) \($1)" } + "\n"
    let own = try #require(ProcessStatistics(statText: Array(whole.utf8))).own
    #expect(own.argumentsStart == 48 && own.argumentsEnd == 49)
    for length in 0..<text.utf8.count - 4 {
      _ = ProcessStatistics(statText: Array(text.utf8.prefix(length)))
    }
    #expect(ProcessStatistics(statText: []) == nil)
    #expect(ProcessStatistics(statText: Array(") S".utf8)) == nil)
  }

  @Test func theFileSystemIsThatOfTheMountID() {
    let mounts = """
      20 1 8:1 / / rw - ext4 /dev/sda rw
      21 20 0:50 / /mnt rw,relatime shared:1 master:2 - nfs4 host:/ rw
      210 20 0:51 / /a\\040b rw - tmpfs none rw
      """
    func type(_ fdinfo: String) -> String? {
      LocalFileSystem.fileSystemType(
        fdinfo: Array(fdinfo.utf8), mountinfo: Array(mounts.utf8))
    }
    #expect(type("pos:\t0\nflags:\t01\nmnt_id:\t21\nino:\t5\n") == "nfs4")
    #expect(type("mnt_id:\t210\n") == "tmpfs")
    #expect(type("mnt_id:\t20") == "ext4")
    #expect(type("mnt_id:\t2\n") == nil)
    #expect(type("pos:\t20\n") == nil)
  }
}
