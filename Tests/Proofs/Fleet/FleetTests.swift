import CrashReportUpload
import CrashTestSupport
import Foundation
import Testing

/// Tests what Docs/Guide/Fleet.md says a fleet in a crash loop sends to one slow receiver.
@Suite(.serialized)
struct FleetTests {
  private static let hosts =
    ProcessInfo.processInfo.environment["POSTMORTEM_FLEET_HOSTS"].flatMap { Int($0) } ?? 25

  private static func plan(signatures: Int) -> SimulatedFleet.Plan {
    var plan = SimulatedFleet.Plan()
    plan.hosts = hosts
    plan.signatures = signatures
    // The receiver serves fewer requests than are made at a time, so it refuses some.
    plan.capacity = max(2, hosts / 60)
    plan.options.interval = .seconds(60)
    plan.options.spread = .seconds(60)
    var sampling = UploadSampling()
    sampling.wholeReports = 2
    sampling.window = .seconds(30 * 86400)
    plan.options.sampling = sampling
    return plan
  }

  @Test(arguments: ProofExtent.isSample ? [3] : [1, 3])
  func noCountIsLostNobodyIsStarvedAndTheReceiverSeesNoStampede(_ signatures: Int) async throws {
    let plan = Self.plan(signatures: signatures)
    let fleet = try SimulatedFleet(plan)
    let seconds = try await fleet.run(limit: 7 * 86400)
    #expect(try fleet.pending() == 0)

    // A form that is sent again after a lost answer has the same ID and the same fields.
    var counts: [String: Int] = [:]
    var (whole, sampled) = (0, 0)
    for form in fleet.forms {
      let id = try #require(form.fields["report_id"])
      let count = try #require(form.fields["report_count"].flatMap { Int($0) })
      #expect(form.fields["report_signature"]?.hasPrefix("SIGSEGV | f") == true)
      #expect(counts[id] == nil || counts[id] == count, "\(id)")
      let isWhole = form.files["upload_file_minidump"] != nil
      // Each form's fields say whether it has the minidump.
      #expect((form.fields["minidump_left_out"] == nil) == isWhole)
      #expect(!isWhole || count == 1)
      if counts[id] == nil { if isWhole { whole += 1 } else { sampled += 1 } }
      counts[id] = count
    }
    let lost = fleet.taken.filter(\.wasLost).count
    print(
      "\(plan.hosts) hosts, \(signatures) signatures, \(seconds) s: \(fleet.forms.count) forms, "
        + "\(whole) whole, \(sampled) counted, \(fleet.refused) refused, \(lost) answers lost, "
        + "at most \(fleet.asked.values.max() ?? 0) requests a second, \(fleet.mostServed) served")
    #expect(counts.values.reduce(0, +) == plan.hosts * plan.crashes)
    #expect(fleet.forms.count == fleet.taken.count && lost > 0 && fleet.refused > 0)
    #expect(whole >= plan.hosts * signatures && whole <= plan.hosts * signatures * 2)
    #expect(counts.count < plan.hosts * plan.crashes && sampled > 0)

    // No host is starved: refusals and lost answers account for the time until each host's first report arrives.
    for host in 0..<plan.hosts {
      let first = try #require(fleet.taken.first { $0.host == host })
      #expect(first.time - fleet.start <= 3600, "host \(host)")
    }
    // There is no stampede: all hosts crash in the same second, and their requests arrive over a minute.
    #expect(fleet.mostServed <= plan.capacity)
    let mean = Double(plan.hosts) / 60
    for (second, count) in fleet.asked {
      #expect(Double(count) <= 3 * mean + 8 * mean.squareRoot() + 8, "\(second - fleet.start)")
    }
  }
}
