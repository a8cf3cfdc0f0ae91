import CrashTestSupport
import Foundation
import Testing

/// Other readers open our minidumps.
@Suite struct OutsideReaderTests {
  @Test(.enabled(if: DumpReaders.isWanted(DumpReaders.hasLLDB), "needs Debian's lldb-19"))
  func lldb() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write(SyntheticProcess.snapshot())
    let commands = [
      "target create -c \(file)", "thread list", "register read", "thread backtrace",
      "thread select 2", "register read r15 rsp", "image list", "memory read -c 8 0x555555555000",
    ]
    let result = try DumpReaders.run(
      DumpReaders.lldb,
      ["--no-lldbinit", "--batch"] + commands.flatMap { ["-o", $0] })
    let output = result.output
    #expect(result.status == 0)
    for expected in [
      "Process 4001 stopped", "thread #1: tid = 4001, 0x0000555555555040 victim",
      "stop reason = signal SIGSEGV", "thread #2: tid = 4002, 0x0000555555555040 victim",
      "thread #3: tid = 4003, 0x00007f0000001234 libgone.so", "thread #4: tid = 4004",
      "rax = 0x1100000000000001", "rbx = 0x1100000000000002", "rcx = 0x1100000000000003",
      "rdx = 0x1100000000000004", "rsi = 0x1100000000000005", "rdi = 0x1100000000000006",
      "rsp = 0x00007ffd00000100", "rbp = 0x00007ffd00000120", "r15 = 0x110000000000000f",
      "rip = 0x0000555555555040", "rflags = 0x0000000000010246", "cs = 0x0000000000000033",
      "fs = 0x0000000000000063", "gs = 0x000000000000006b", "ss = 0x000000000000002b",
      "frame #1: 0x0000555555555010", "frame #2: 0x0000555555555020",
      "r15 = 0x330000000000000f", "rsp = 0x00007f1000000100",
      "A0A1A2A3-A4A5-A6A7-A8A9-AAABACADAEAF-B0B1B2B3", "90 90 90 90 90 90 90 90",
    ] {
      #expect(output.contains(expected), "LLDB does not print \(expected):\n\(output)")
    }
  }

  /// Breakpad's C++ processor, in the version that Sentry used.
  @Test(
    .enabled(
      if: DumpReaders.isWanted(DumpReaders.hasSymbolic),
      "needs PyPI's symbolic 8.8.0 and setuptools < 80"))
  func breakpad() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write(SyntheticProcess.snapshot())
    let script = """
      import sys, symbolic.minidump
      state = symbolic.minidump.ProcessState.from_minidump(sys.argv[1])
      info = state.system_info
      print(state.crashed, hex(state.crash_address), state.crash_reason, state.requesting_thread)
      print(info.os_name, info.os_version, info.cpu_family, info.cpu_count)
      for module in state.modules():
        print('module', module.code_file, module.code_id, hex(module.addr), hex(module.size))
      for thread in state.threads():
        frames = [(hex(frame.return_address), frame.trust) for frame in thread.frames()]
        print('thread', thread.thread_id, len(frames), frames[:2])
      """
    let result = try DumpReaders.run("/usr/bin/env", ["python3", "-c", script, file])
    let lines = result.output.split(separator: "\n").map { String($0) }
    #expect(result.status == 0, "\(result.output)")
    #expect(
      lines == [
        "True 0xdeadbee0 SIGSEGV /SEGV_MAPERR 0",
        "Linux 6.18.0 amd64 2",
        "module /opt/victim a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3 0x555555554000 0x203000",
        "module /usr/lib/libgone.so 010203 0x7f0000000000 0x10000",
        "thread 4001 4 [('0x555555555040', 'context'), ('0x555555555010', 'fp')]",
        "thread 4002 4 [('0x555555555040', 'context'), ('0x555555555010', 'fp')]",
        "thread 4003 1 [('0x7f0000001234', 'context')]",
        "thread 4004 0 []",
      ])
  }

  @Test(
    .enabled(
      if: DumpReaders.isWanted(DumpReaders.hasPythonMinidump), "needs PyPI's minidump 0.0.24"))
  func pythonMinidump() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write(SyntheticProcess.snapshot())
    // The library looks for the process environment block of Windows in every dump, and logs an error for a dump of
    // Linux.
    let script = """
      import sys, logging
      complaints = []
      class Handler(logging.Handler):
        def emit(self, record): complaints.append(record.getMessage())
      logging.getLogger().addHandler(Handler(logging.WARNING))
      from minidump.minidumpfile import MinidumpFile
      dump = MinidumpFile.parse(sys.argv[1])
      print(str(dump)[:26].split('\\n')[0])
      print([m for m in complaints if m != 'PEB parsing error!'])
      context = dump.threads.threads[0].ContextObject
      print(hex(context.Rip), hex(context.Rsp), hex(context.R15), hex(context.MxCsr))
      print([t.ThreadId for t in dump.threads.threads], dump.misc_info.ProcessId)
      print([(m.name, hex(m.baseaddress)) for m in dump.modules.modules])
      record = dump.exception.exception_records[0].ExceptionRecord
      print(record.ExceptionCode_raw, record.ExceptionFlags, hex(record.ExceptionAddress))
      print(dump.get_reader().read(0x7ffd00002000, 4))
      print(len(dump.memory_info.infos), len(dump.memory_segments.memory_segments))
      """
    let result = try DumpReaders.run("/usr/bin/env", ["python3", "-c", script, file])
    let lines = result.output.split(separator: "\n").map { String($0) }
    #expect(result.status == 0, "\(result.output)")
    #expect(
      lines == [
        "== Minidump File ==", "[]",
        "0x555555555040 0x7ffd00000100 0x110000000000000f 0x1f80",
        "[4001, 4002, 4003, 4004] 4001",
        "[('/opt/victim', '0x555555554000'), ('/usr/lib/libgone.so', '0x7f0000000000')]",
        "11 1 0xdeadbee0", "b'\"\"\"\"'",
        "5 5",
      ])
  }
}
