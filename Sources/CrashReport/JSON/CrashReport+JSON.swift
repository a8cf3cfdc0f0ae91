internal import CrashAnalysis
internal import DumpInspection
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

// The JSON that `postmortem show --json` prints; `Docs/Reference/ReportSchema.json` is its schema, and
// `Docs/Reference/ReportFields.md` describes each key. No key is ever left out. Addresses, offsets and registers are
// strings, because many JSON readers convert numbers to `double`, which is exact only up to 2^53. The keys for facts
// that a dump contains directly are defined in `IntermediateDumpKey+Definitions.swift`.

extension CrashReport {
  /// The version of the schema, which is increased when a field is removed or changes its meaning.
  private static let schemaVersion = 1

  /// The report as JSON with a line feed at the end, either in one line or indented.
  package func json(isIndented: Bool = false) -> String {
    let mappings = snapshot.listedMappings
    let ownCode = verdict.ownCode
    let derived: JSONObject = [
      "schemaVersion": Self.schemaVersion,
      "message": verdict.message,
      "otherMessages": verdict.otherMessages,
      "explanation": explanation,
      "cause": verdict.cause?.json,
      "signature": verdict.signature,
      "place": verdict.place,
      "symbolHint": threads.first { $0.crashed }.flatMap(symbolHint),
      "complete": snapshot.capture.isComplete,
      "exception": snapshot.exception?.json,
      "process": snapshot.process.json,
      "system": systemJSON,
      "thrown": thrownJSON(ownCode),
      "threads": threads.map { ThreadJSON(thread: $0, snapshot: snapshot, ownCode: ownCode) },
      "standstill": standstillJSON,
      "waits": waits.all.map(waitJSON),
      "allTasks": allTasksJSON(ownCode),
      "unknownTaskLayout": unknownTaskLayout,
      "modules": zip(snapshot.modules, symbolNotes).map { ModuleJSON(module: $0, note: $1) },
      "annotations": snapshot.annotations,
      "capture": snapshot.capture.json,
      "resources": resourcesJSON,
      "survival": survivalJSON,
      "request": snapshot.request?.json,
      "client": clientJSON,
      "words": words.map(\.json),
      "memory": snapshot.memoryExcerpts.map(\.json),
      "mappings": mappings.mappings.map { MappingJSON(mapping: $0) },
      "mappingsOmitted": mappings.omitted,
      "end": snapshot.end?.json,
    ]
    let json = JSONObject(.report, ProcessSnapshot.mapFields, of: snapshot, derived)
    var writer = JSONWriter(isIndented: isIndented)
    json.write(to: &writer)
    writer.add(verbatim: "\n")
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private func thrownJSON(_ ownCode: OwnCode) -> JSONObject? {
    verdict.thrown.map { thrown in
      [
        "threadID": thrown.record.threadID,
        "ageNanoseconds": age(of: thrown),
        "error": thrown.record.error?.description,
        "frames": thrown.frames.map {
          FrameJSON(
            frame: $0, modules: snapshot.modules, isOwn: ownCode.isEmphasized($0))
        },
      ]
    }
  }

  private func allTasksJSON(_ ownCode: OwnCode) -> JSONObject? {
    allTasks.map { tasks in
      [
        "found": tasks.found.count,
        "timers": tasks.found.timerCount,
        "bytesSeen": tasks.found.bytesSeen,
        "bytesUnseen": tasks.found.bytesUnseen,
        "deadlocks": taskDeadlocks.map(\.json),
        "groupsOmitted": tasks.found.groups.count - tasks.groups.count,
        "groups": tasks.groups.map { group -> JSONObject in
          let places = ownCode.taskPlaces(in: group.frames)
          return [
            "state": group.found.state.word,
            "pause": group.pause?.rawValue,
            "count": group.found.count,
            "cancelled": group.found.cancelledCount,
            "place": places.place,
            "caller": places.caller,
            "contexts": group.contexts.map(contextJSON),
            "oldest": group.found.records.prefix(TaskOverview.listedCount).map { record in
              record.json(on: group.found.state == .running ? thread(running: record.id) : nil)
            },
            "frames": group.frames.map {
              FrameJSON(
                frame: $0, modules: snapshot.modules, isOwn: ownCode.isEmphasized($0))
            },
          ]
        },
      ]
    }
  }

  private func contextJSON(_ context: TaskOverview.Context) -> JSONObject {
    [
      "task": context.task,
      "work": context.work.number & (1 << 62 - 1),
      "ageNanoseconds": age(since: context.work.uptime),
      "values": context.work.values.map(\.json),
    ]
  }

  private var standstillJSON: JSONObject? {
    standstill.map { standstill in
      [
        "kind": standstill.kind.rawValue,
        "certain": standstill.isCertain,
        "threadID": standstill.threadID,
        "waiting": standstill.waiting,
        "sentences": waitSentences,
      ]
    }
  }

  private func waitJSON(_ wait: Wait) -> JSONObject {
    [
      "threadID": wait.threadID,
      "kind": wait.subject.rawValue,
      "address": wait.address.description,
      "name": wait.label,
      "owner": wait.owner,
      "absentOwner": wait.absentOwner.map { owner -> JSONObject in
        ["id": owner.id, "kind": owner.kind.rawValue, "name": owner.name]
      },
      "readers": wait.readers,
      "limited": wait.hasLimit,
      "certain": wait.isCertain,
      "deadlocked": waits.deadlock(with: wait.threadID) != nil,
      "place": wait.place,
    ]
  }

  private var systemJSON: JSONObject {
    JSONObject(
      .system, SystemDescription.mapFields, of: snapshot.system,
      [
        "architecture": snapshot.architecture.rawValue,
        "containerID": snapshot.containerID,
        "timeZone": snapshot.system.timeZoneName,
      ])
  }

  private var resourcesJSON: JSONObject {
    let resources = Resources(snapshot)
    let derived: JSONObject = [
      "openFiles": resources.openFiles.json,
      "descriptors": snapshot.process.descriptors.map(\.json),
      "mappings": resources.mappings.json,
      "memory": snapshot.process.residentMemory,
      "memoryPeak": snapshot.process.peakResidentMemory,
      "threads": resources.threads.used,
      "controlGroupMemory": resources.cgroupMemory.json,
      "controlGroupTasks": resources.cgroupTasks.json,
      "stackLimit": resources.stackLimit,
      "addressSpaceLimit": resources.addressSpace.limit,
      "addressSpaceUsed": resources.addressSpace.used,
      "taskLimit": resources.threads.limit,
      "loadAverage": resources.loadAverage,
    ]
    return JSONObject(.resources, ProcessDescription.mapFields, of: snapshot.process, derived)
  }

  private var survivalJSON: JSONObject? {
    snapshot.survival.map { survival in
      JSONObject(
        .survival, Survival.mapFields, of: survival,
        ["previousHandlerModule": previousHandlerModule])
    }
  }

  /// The data that the program added, such as annotations; nil if the program added none.
  private var clientJSON: JSONObject? {
    let client = snapshot.client
    guard !client.isEmpty else { return nil }
    let derived: JSONObject = [
      "annotations": (client.annotations + client.simpleAnnotations).map(\.json),
      "breadcrumbs": client.breadcrumbs.map(breadcrumb),
      "workBreadcrumbs": client.workBreadcrumbs.map(breadcrumb),
      "attachments": client.attachments.map(\.json),
      "extraMemory": client.extraMemory.map { range -> JSONObject in
        [
          "address": range.address.description,
          "size": range.size,
          "captured": isCaptured(range),
        ]
      },
      "userStreamFailures": client.userStreamFailures,
      "inFlight": client.openContexts.map(inFlightJSON),
    ]
    return JSONObject(.client, ClientInformation.mapFields, of: client, derived)
  }

  private func breadcrumb(_ breadcrumb: ClientInformation.Breadcrumb) -> JSONObject {
    JSONObject(
      .breadcrumb, ClientInformation.Breadcrumb.mapFields, of: breadcrumb,
      ["ageNanoseconds": age(of: breadcrumb)])
  }
}

extension Finding {
  fileprivate var json: JSONObject {
    ["kind": kind, "certainty": certainty.word, "evidence": evidence.map(\.text)]
  }
}

extension TaskDeadlock {
  fileprivate var json: JSONObject {
    [
      "certain": isCertain,
      "tasks": waits.map { wait -> JSONObject in
        [
          "id": wait.id,
          "awaits": wait.awaited,
          "group": wait.isForGroup,
          "place": wait.place,
        ]
      },
    ]
  }
}

extension TaskRecord {
  fileprivate func json(on thread: UInt32?) -> JSONObject {
    [
      "id": id,
      "name": name,
      "threadID": thread,
      "priority": priority,
      "cancelled": isCancelled,
      "flags": Address(UInt64(flags)).description,
      "parent": parent == 0 ? nil : parent,
      "awaits": awaited == 0 ? nil : awaited,
    ]
  }
}

extension ExceptionSnapshot {
  fileprivate var json: JSONObject {
    let codeName = signal.flatMap { signal in
      code.flatMap { SignalNames.codeName(signal: signal, code: $0) }
    }
    let derived: JSONObject = [
      "signalName": signal.flatMap(SignalNames.name),
      "codeName": codeName,
      "access": MemoryAccess(self)?.rawValue,
      "sender": sender.map { sender -> JSONObject in
        ["pid": sender.processID, "uid": sender.userID, "name": senderName]
      },
      "systemCall": systemCall.map { call -> JSONObject in
        ["number": call.number, "name": call.name]
      },
      "foreign": foreign.map { foreign -> JSONObject in
        [
          "system": foreign.system.name, "code": foreign.code, "name": foreign.name,
          "flags": foreign.flags, "parameters": foreign.parameters.map { Address($0).description },
        ]
      },
    ]
    return JSONObject(.exception, Self.mapFields, of: self, derived)
  }
}

extension ProcessDescription {
  fileprivate var json: JSONObject {
    JSONObject(
      .process, Self.mapFields, of: self,
      [
        "arguments": arguments,
        "uptimeNanoseconds": uptime,
        "ageNanoseconds": age,
        "userID": userIDs?.real,
        "effectiveUserID": userIDs?.effective,
        "groupID": groupIDs?.real,
        "effectiveGroupID": groupIDs?.effective,
      ])
  }
}

private struct ThreadJSON: JSONConvertible {
  let thread: ReportThread
  let snapshot: ProcessSnapshot
  /// Distinguishes calls of the program's own code from other calls.
  let ownCode: OwnCode

  var json: JSONObject {
    let known = thread.snapshot
    let trace = thread.trace
    let registers =
      (known.context?.generalRegisters ?? []) + (known.context?.segmentRegisters ?? [])
    let derived: JSONObject = [
      "crashed": thread.crashed,
      "systemCall": known.systemCallNumber.map { number -> JSONObject in
        ["number": number, "name": snapshot.architecture.systemCallName(number)]
      },
      "registers": Dictionary(
        registers.map { ($0.name, Address($0.value).description) },
        uniquingKeysWith: { first, _ in first }),
      "frames": frames(trace.frames),
      "framesOmitted": trace.omittedCount,
      "framesOmittedAfter": trace.omittedAfter,
      "stackGap": trace.hasGap,
      "stackEnd": trace.end.rawValue,
      "recursion": trace.recursion?.json,
      "task": thread.task.map(task),
      "context": thread.contexts.map { context in
        JSONObject(.context, ClientInformation.Context.mapFields, of: context)
      },
    ]
    return JSONObject(.thread, ThreadSnapshot.mapFields, of: known, derived)
  }

  private func frames(_ frames: [StackFrame]) -> [FrameJSON] {
    frames.map { frame in
      FrameJSON(
        frame: frame, modules: snapshot.modules, isOwn: ownCode.isEmphasized(frame))
    }
  }

  private func task(_ task: ReportTask) -> JSONObject {
    [
      "id": task.fields?.id,
      "name": task.fields?.name,
      "priority": task.fields?.priorityWord,
      "basePriority": task.fields?.basePriorityWord,
      "cancelled": task.fields?.isCancelled,
      "child": task.fields?.isChild,
      "calleeIndex": task.calls.calleeIndex,
      "frames": frames(task.frames),
      "framesOmitted": task.calls.omittedCount,
      "framesOmittedAfter": task.calls.omittedAfter,
      "framesCut": task.calls.isCut,
    ]
  }
}

extension Recursion {
  fileprivate var json: JSONObject {
    ["period": period, "first": first, "count": count, "estimatedInGap": estimatedInGap]
  }
}

private struct FrameJSON: JSONConvertible {
  let frame: StackFrame
  let modules: [ModuleSnapshot]
  let isOwn: Bool

  var json: JSONObject {
    let module = modules.module(of: frame)
    let line = frame.sourceLocation
    let offset = module.map { Address(frame.address.wrappedDistance(above: $0.address)) }
    return [
      "address": frame.address.description,
      "module": module?.name,
      "moduleOffset": offset?.description,
      "function": frame.function,
      "symbol": frame.linkageName,
      "functionOffset": frame.symbol?.offset.map { Address($0).description },
      "file": line?.file,
      "line": line?.line,
      "column": line?.column,
      "lineApproximate": line?.isApproximate,
      "inlined": frame.isInlined,
      "own": isOwn,
      "storedAtConversion": frame.isStored,
      "trust": frame.trust.rawValue,
    ]
  }
}

private struct ModuleJSON: JSONConvertible {
  let module: ModuleSnapshot
  let note: String?

  var json: JSONObject {
    let objects = module.annotations.objects.compactMap { object in
      object.text.map { (object.name, $0) }
    }
    return [
      "path": module.path,
      "base": module.address.description,
      "size": module.size,
      "buildID": module.buildIDText,
      "deleted": module.isDeleted,
      "source": module.source?.word,
      "symbolNote": note,
      "annotations": module.annotations.simple.merging(objects) { first, _ in first },
      "messages": module.annotations.list,
    ]
  }
}

extension CaptureQuality {
  fileprivate var json: JSONObject { JSONObject(.capture, Self.mapFields, of: self) }
}

extension Resources.Usage {
  fileprivate var json: JSONObject { ["used": used, "limit": limit] }
}

extension OpenDescriptor {
  fileprivate var json: JSONObject {
    JSONObject(.descriptor, Self.mapFields, of: self, ["ofHandler": isHandlers])
  }
}

extension DumpRequest {
  fileprivate var json: JSONObject {
    JSONObject(
      .request, Self.mapFields, of: self,
      ["activity": isBusy.map { $0 ? "busy" : "idle" }, "end": end?.json])
  }
}

extension ClientAnnotation {
  fileprivate var json: JSONObject {
    JSONObject(.annotation, Self.mapFields, of: self, ["value": text])
  }
}

extension ClientInformation.Attachment {
  fileprivate var json: JSONObject { JSONObject(.attachment, Self.mapFields, of: self) }
}

extension MemoryExcerpt {
  fileprivate var json: JSONObject {
    [
      "about": about,
      "target": target.description,
      "address": address.description,
      "bytes": bytes.hexadecimal,
    ]
  }
}

private struct MappingJSON: JSONConvertible {
  let mapping: MemoryMapping

  var json: JSONObject {
    [
      "start": mapping.start.description,
      "end": mapping.end.description,
      "protection": mapping.protection.letters,
      "path": mapping.path.isEmpty ? nil : mapping.path,
    ]
  }
}

extension RunEnd {
  fileprivate var json: JSONObject { JSONObject(.end, Self.mapFields, of: self) }
}
