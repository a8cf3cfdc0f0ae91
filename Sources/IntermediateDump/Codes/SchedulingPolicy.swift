/// The scheduling policies of sched(7), with the kernel's numbers; the values of the key `schedulingPolicy`.
///
/// The handler writes the number that the kernel reports, so a dump may contain numbers without a case here.
///
/// Source: Linux include/uapi/linux/sched.h.
public enum SchedulingPolicy: UInt8, DumpCode {
  case other = 0
  case fifo = 1
  case roundRobin = 2
  case batch = 3
  case idle = 5
  case deadline = 6
  case ext = 7

  public var word: String { self == .roundRobin ? "rr" : "\(self)" }
}
