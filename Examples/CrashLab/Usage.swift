extension Command {
  static let usage = """
    usage: crash-lab KIND (--database DIR | --no-handler) [--threads N] [--stack BYTES]
                          [--on main|pthread|dispatch|task|earlier-thread|earlier-worker]
                          [--condition NAME]... [--no-summary]
                          [--milliseconds N] [--forgo CALLS] [--announce]
                          [--privacy sanitized|no-memory] [--plant] [--note TEXT] [--throws]
                          [--among-objects]
                          [--and KIND]
           crash-lab end WAY (--database DIR [--no-unclean-ends] | --no-handler)
           crash-lab functions own|libc (--database DIR | --no-handler)
           crash-lab gone-binary (--database DIR | --no-handler)
           crash-lab hang TARGET MANNER OUTCOME --database DIR
           crash-lab live-dump SCENE [PATH] --database DIR
           crash-lab process --database DIR [--identifier NAME] [--no-symbols] [--wait]
                             [--show-identity]
           crash-lab process-itself DEED --database DIR
           crash-lab chain SCENE (--database DIR | --no-handler)
           crash-lab java SCENE ORDER LIBRARY DIRECTORY (--database DIR | --no-handler)
           crash-lab library DIR FILE NUMBER PLACE
           crash-lab locks SCENE waits|watched|dumps --database DIR
           crash-lab near-memory-limit KIBIBYTES THREADS crash|live (--database DIR | --no-handler)
           crash-lab objects SCENE DIR FIRST
           crash-lab secrets MANNER [--privacy sanitized|no-memory] --database DIR
           crash-lab sequence SCENE (--database DIR | --no-handler)
           crash-lab served-memory SERVER PLACE --database DIR
           crash-lab storm SEED --database DIR
           crash-lab tasks SCENE COUNT waits|watched|dumps --database DIR
           crash-lab tell SCENE DIR DIRECTORY
           crash-lab threads-made LIMIT KIBIBYTES (--database DIR | --no-handler)
           crash-lab truth NUMBER waits|watched|dumps --database DIR
           crash-lab use SCENE (--database DIR | --no-handler)
           crash-lab data-race (--database DIR | --no-handler)
           crash-lab idle|start-again|status|status-closed|status-of-many|forked --database DIR
           crash-lab --list|--list-conditions|--list-ends

    what it does:
      KIND            dies in this way; --list names them
      end             ends in a way that leaves no dump, or waits to be ended; --list-ends names them
      functions       calls the functions that this package defines in front of libc's, or libc's, and prints
                      what they do; C/functions has the calls
      gone-binary     crashes after the file system that it was run from is gone; takes root
      hang            hangs under a monitor: TARGET is main, queue, actor, heartbeat or two, MANNER idle,
                      busy or never; Subcommands/Hang.swift says what each OUTCOME is
      live-dump       takes dumps and lives on; Subcommands/LiveDump.swift says what each SCENE is
      process         converts what earlier runs left behind, one line for each dump
      process-itself  starts the handler, converts what is there, and then does its deed;
                      Deeds/Deed.swift says what each DEED is
      chain           plays a program that had signal handlers of its own before; C/chain.c has them
      java            has a Java virtual machine of LIBRARY play a scene of the class Play in DIRECTORY;
                      Subcommands/JavaMachine.swift says what each ORDER is
      library         crashes in a library that a test compiled, with its reports in DIR
      locks           has threads wait for each other, or only wait; Subcommands/Locks.swift says what each
                      SCENE is
      near-memory-limit
                      crashes, or takes a dump that stops threads, in a memory cgroup that has so much
                      left; takes root
      objects         prints its objects and crashes among them, or uses one after its end, with its reports in
                      DIR or "none"; Subcommands/ObjectScene.swift says what each SCENE is
      secrets         has secrets wherever a program may have one, like --plant, and crashes, dumps, hangs or
                      waits; Subcommands/SecretScene.swift says what each MANNER is
      sequence        crashes inside or after a restartable sequence (rseq), or takes a dump beside threads
                      that may have some; Subcommands/SequenceScene.swift says what each SCENE is
      served-memory   crashes, or takes a dump, beside memory that a thread of its own serves; takes
                      root; Subcommands/ServedMemory.swift says what SERVER and PLACE are
      storm           sends another process of this program the signals of its handler at random, and crashes
                      it
      tasks           has COUNT tasks of Swift concurrency that wait; Subcommands/Tasks.swift says for
                      what in each SCENE
      tell            tells the handler all it can be told, with its reports in DIR and its own files in
                      DIRECTORY, and then ends as SCENE says; Subcommands/Telling.swift has them
      threads-made    makes threads with stacks of so many KiB until it can make no more, 2,000 at most, and
                      prints their number, the arenas of malloc, and the handler's status; LIMIT is
                      none, address-space, data or
                      locked-memory
      use             uses signals, threads or processes as a program may, and prints what it sees; C/uses
                      and Subcommands/UseScene.swift have the scenes, and "list" lists them
      data-race       has two threads race for a variable, and aborts; without the handler if that
                      cannot be started
      idle            starts the handler, prints what runs in the process, and exits
      start-again     starts the handler twice more, with the same directory and with another
      status          prints Handler.status, before and after the handler was spoiled
      status-closed   the same, before and after /proc was closed
      status-of-many  the same, while threads are made, and once one blocks a fault
      forked          forks a child that does nothing as long as its parent lives, and prints its ID

    its handler:
      --no-handler    has no handler of ours
      --no-summary    prints nothing
      --no-unclean-ends
                      keeps no record of how the run ends
      --milliseconds  has so much time
      --forgo         leaves out these system calls; as in the conditions that end in "-killed"

    a crash:
      --on            the thread that crashes; main if not given
      --condition     what surrounds the crash; --list-conditions names them
      --threads       more threads, all asleep, started before the crash
      --stack         bytes of stack for each pthread
      --privacy       leaves out so much of its dumps
      --plant         has secrets wherever a program may have one; Secrets.swift has them
      --note          is not looked at: an argument that may be a secret
      --among-objects
                      prints objects, and has some of them in registers and on the stack
      --and           has another thread die in this way at the same instant
      --throws        records where errors are thrown
      --announce      writes a line to standard output right before the crash

    a conversion:
      --identifier    in the name of this program; crash-lab if not given
      --no-symbols    keeps no names and lines with the reports, which takes seconds where this program
                      was built without optimisation
      --wait          begins once standard input has ended
      --show-identity
                      prints users, groups and capabilities before and after
    """
}
