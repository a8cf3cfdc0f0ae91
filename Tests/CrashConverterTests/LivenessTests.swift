import Testing

@testable import CrashConverter
@testable import PendingDumps

@Suite struct LivenessTests {
  private static let host = HostIdentity(
    bootID: "boot", processNamespace: 7, isProcOurs: true, processID: 1, startTime: 1)
  private static let record = RunRecord(
    processID: 50, startTime: 1000, stackStart: 0x7000, bootID: "boot", processNamespace: 7,
    launchTime: 1)
  private static let hour: Int64 = 3600 * 1_000_000_000

  /// Evidence of a live owner in the same place, changed as the test wants it.
  private func isDead(_ change: (inout OwnerEvidence) -> Void) -> Bool {
    var evidence = OwnerEvidence(
      record: Self.record, host: Self.host, process: .found(Self.process()), fifo: .hasReader,
      lease: .unknown, isLocalFileSystem: true, age: 0, isOwnIdentifier: true)
    change(&evidence)
    return evidence.verdict.isDead
  }

  private static func process(
    state: String = "S", threads: Int64 = 1, startTime: UInt64 = 1000, stackStart: UInt64 = 0x7000
  ) -> ProcessStatistics {
    ProcessStatistics(
      state: state.utf8.first ?? 0, threadCount: threads, startTime: startTime,
      stackStart: stackStart)
  }

  @Test func inTheSamePlaceTheProcessDecides() {
    #expect(!isDead { _ in })
    #expect(!isDead { $0.fifo = .noReader }, "close_range can close the FIFO of a live owner")
    #expect(!isDead { $0.age = .max }, "an owner may live for years")
    #expect(isDead { $0.process = .missing })
    #expect(isDead { $0.process = .found(Self.process(startTime: 1001)) })
    #expect(isDead { $0.process = .found(Self.process(stackStart: 0x8000)) }, "exec")
    #expect(!isDead { $0.process = .found(Self.process(stackStart: 0)) }, "not told")
    #expect(isDead { $0.process = .found(Self.process(state: "Z", stackStart: 0)) })
    #expect(
      !isDead { $0.process = .found(Self.process(state: "Z", threads: 2, stackStart: 0)) },
      "only the main thread has ended")
    #expect(isDead { $0.process = .found(Self.process(state: "X")) })
  }

  @Test func elsewhereInTheSameBootFIFOAndMappingDecideTogether() {
    for change in [
      { $0.record?.processNamespace = 8 }, { $0.record?.processNamespace = nil },
      { $0.host.isProcOurs = false }, { $0.process = .unreadable },
    ] as [(inout OwnerEvidence) -> Void] {
      func isDead(
        _ fifo: FIFOProbe, _ lease: RecordLease, isMapped: Bool = true,
        isLocal: Bool, age: Int64 = 0
      ) -> Bool {
        self.isDead {
          $0.process = .missing
          change(&$0)
          $0.record?.isMapped = isMapped
          ($0.fifo, $0.lease) = (fifo, lease)
          $0.isLocalFileSystem = isLocal
          $0.age = age
        }
      }
      for isLocal in [true, false] {
        #expect(isDead(.noReader, .granted, isLocal: isLocal))
        for lease in [.refused, .granted, .unknown] as [RecordLease] {
          #expect(!isDead(.hasReader, lease, isLocal: isLocal, age: .max))
        }
        for fifo in [.noReader, .missing, .unreadable] as [FIFOProbe] {
          #expect(!isDead(fifo, .refused, isLocal: isLocal, age: .max), "closed, and mapped")
        }
        // Neither alone proves it: the program may have closed the one, an overlay hides the other.
        for (fifo, lease, isMapped) in [
          (.noReader, .unknown, true), (.noReader, .granted, false), (.unreadable, .granted, true),
          (.unreadable, .unknown, true), (.missing, .granted, true),
        ] as [(FIFOProbe, RecordLease, Bool)] {
          for (age, dead) in [(0, false), (24 * Self.hour, false), (24 * Self.hour + 1, true)] {
            #expect(
              isDead(fifo, lease, isMapped: isMapped, isLocal: isLocal, age: Int64(age)) == dead)
          }
        }
      }
    }
  }

  @Test func startTimesAreComparedInOneTimeNamespace() {
    for (owner, host) in [(1, 2), (1, nil), (nil, 2)] as [(UInt64?, UInt64?)] {
      func isDead(_ process: ProcessProbe, _ change: (inout OwnerEvidence) -> Void = { _ in })
        -> Bool
      {
        self.isDead {
          $0.record?.timeNamespace = owner
          $0.host.timeNamespace = host
          $0.process = process
          ($0.fifo, $0.lease) = (.noReader, .granted)
          $0.record?.isMapped = true
          change(&$0)
        }
      }
      #expect(!isDead(.found(Self.process(startTime: 101_001))))
      #expect(isDead(.missing))
      #expect(isDead(.found(Self.process(state: "Z", startTime: 101_001, stackStart: 0))))
      #expect(isDead(.found(Self.process(startTime: 101_001, stackStart: 0x8000))))
      // Nothing tells whether it is the same process: what is left decides.
      let unknown = ProcessProbe.found(Self.process(startTime: 101_001, stackStart: 0))
      #expect(isDead(unknown))
      #expect(!isDead(unknown) { $0.fifo = .hasReader })
      #expect(!isDead(unknown) { $0.lease = .refused })
    }
    #expect(
      isDead {
        $0.record?.timeNamespace = 3
        $0.host.timeNamespace = 3
        $0.process = .found(Self.process(startTime: 1001))
      })
  }

  @Test func anotherBootIsDeathWhereNoOtherMachineWrites() {
    #expect(
      isDead {
        $0.record?.bootID = "other"
        $0.fifo = .hasReader
      })
    for (isOwn, limit) in [(true, 24 * Self.hour), (false, 60 * 24 * Self.hour)] {
      for (age, dead) in [(limit, false), (limit + 1, true), (-1, false)] {
        #expect(
          isDead {
            $0.record?.bootID = "other"
            $0.isLocalFileSystem = false
            $0.fifo = .noReader
            $0.isOwnIdentifier = isOwn
            $0.age = age
          } == dead)
      }
    }
  }

  @Test func withoutABootTheWitnessesTellWhereNoOtherMachineWrites() {
    func isDead(
      _ fifo: FIFOProbe, _ lease: RecordLease, isLocal: Bool, isMapped: Bool = true
    ) -> Bool {
      self.isDead {
        $0.record?.bootID = ""
        $0.record?.startTime = 0
        $0.record?.isMapped = isMapped
        $0.process = .unreadable
        $0.fifo = fifo
        $0.lease = lease
        $0.isLocalFileSystem = isLocal
      }
    }
    #expect(isDead(.noReader, .granted, isLocal: true))
    #expect(!isDead(.noReader, .granted, isLocal: false))
    #expect(!isDead(.noReader, .granted, isLocal: true, isMapped: false))
    #expect(!isDead(.noReader, .refused, isLocal: true))
    #expect(!isDead(.hasReader, .granted, isLocal: true))
    #expect(!isDead(.unreadable, .granted, isLocal: true))
  }

  @Test func withoutARecordAgeTells() {
    func isDead(_ fifo: FIFOProbe, isLocal: Bool, age: Int64) -> Bool {
      self.isDead {
        $0.record = nil
        $0.fifo = fifo
        $0.isLocalFileSystem = isLocal
        $0.age = age
      }
    }
    #expect(!isDead(.noReader, isLocal: true, age: 0), "a program may have closed it")
    #expect(isDead(.noReader, isLocal: true, age: 25 * Self.hour))
    #expect(!isDead(.hasReader, isLocal: true, age: .max))
    #expect(!isDead(.noReader, isLocal: false, age: 0))
    #expect(!isDead(.unreadable, isLocal: true, age: 0))
    #expect(isDead(.unreadable, isLocal: true, age: 25 * Self.hour))
    #expect(isDead(.hasReader, isLocal: false, age: 25 * Self.hour))
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
    // Another boot or namespace, or nothing to judge by: an hour, whichever way the clock went.
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
    let unseen = "claimed by a process that is not to be seen from here"
    #expect(verdict(.unreadable) == .alive(unseen, still: Self.hour))
    #expect(verdict(.unreadable, age: Self.hour + 1).isDead)
    // Another boot is another kernel: a FIFO says nothing there.
    #expect(verdict(.hasReader, boot: 7).isDead)
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
    // Fields 3 to 29 after a name that looks like the end of one.
    let rest = "Z 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 3 21 123456 23 24 25 26 27 140000 29"
    let text = "42 (a) b) (c) \(rest)\n"
    #expect(
      ProcessStatistics(statText: Array(text.utf8))
        == ProcessStatistics(
          state: 0x5A, threadCount: 3, startTime: 123456, stackStart: 140000))
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
