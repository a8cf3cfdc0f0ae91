/// The expected results of `foreign-dumps`; the dumps themselves are not in this repository.
///
/// Breakpad's own processor (PyPI symbolic 8.8.0) gave the exception's name, the address, and the frames that it
/// found by registers and frame pointers. They agree with the tests next to the dumps: Breakpad's
/// `exploitability_unittest.cc` and `minidump_processor_unittest.cc`, and rust-minidump's `test_minidump.rs`.
enum ForeignDumpExpectations {
  /// One line for each file: its SHA-256 and name, then "refused" for a processor that the reader does not
  /// support, "none" for no crash, or else the crashing thread, the exception, its address ("-" for none: for
  /// SIGABRT it would be the sender's), and the innermost frames.
  static let text = """
    5556aaa5f39b5c6d352ed67329482617d595a4ee199745909090f9641ca14656 breakpad-ascii_read_av.dmp refused
    625db4a491d042a8e947eee2d113d17cf041491462d4163468b75ac70448407c breakpad-ascii_read_av_block_write.dmp refused
    5070a83760ee172b0a4edc2530a85c5f50657c880c378466bb2ad7f36847e48d breakpad-ascii_read_av_clobber_write.dmp refused
    bc17cb61b9d3bb540e7371e384b1d08caed1fd5611f272f2d292b9b15617825a breakpad-ascii_read_av_conditional.dmp refused
    2d70a622c11c92e1ea49715fa82f608d3d482ca029d480d98334ca54433f5194 breakpad-ascii_read_av_then_jmp.dmp refused
    c863eae7c9f7e94558f57eefa3b6e2d8e26a8115134b3109ddee6a3826aba9fe breakpad-ascii_read_av_xchg_write.dmp refused
    557ac2fee1d684d4481f788155713ca691955bd5b6b870b11bbce98e36ad1634 breakpad-ascii_write_av.dmp refused
    fcbd959291853da843151cc98da098f5a5da65bd4399e21b3bfd3ba140d62e1b breakpad-ascii_write_av_arg_to_call.dmp refused
    00510ee728c27c0e6bf0bed7fe25510c3cd35696ab5345ebcf527605148857da breakpad-exec_av_on_stack.dmp refused
    07909777a48bc03989c645a16c44fe5003881832853ff568ed45ed0602cb0702 breakpad-linux_divide_by_zero.dmp 20043 SIGFPE/0x00000000 0x401f27 driver+0x1f27 driver+0x1fce
    ca18d0be26b7f150ca69284226d8c14b4724d8997a7fc7e3811826312ce4807f breakpad-linux_executable_heap.dmp 20520 SIGSEGV/0x00000000 0x0 driver+0x1f26 driver+0x1fcd
    e0d39450dd361d988df3bde5cceda28c31ffb6e9a0b193204f9d1d636864c8f9 breakpad-linux_executable_stack.dmp 20520 SIGSEGV/0x00000000 0x0 driver+0x1f26 driver+0x1fcd
    9ec806b08559cb914bbc4ebdb19f80b0a68103947ec10b4395b96256942a774a breakpad-linux_inline.dmp 2146002 SIGILL/ILL_ILLOPN 0x2161b6 linux_inline+0x161b6
    701c67f972c072e04c736867e02c09c8bbad5f6cd1143f49e27ca3a723fbf5ac breakpad-linux_inside_module_exe_region1.dmp 144260 SIGSEGV/0x00000000 0x0 driver+0x1e16 driver+0x1ebd
    02034039797b2681829fe1c41f26a238c99746169f529ecb4ab90239f447d1dd breakpad-linux_inside_module_exe_region2.dmp 123979 SIGSEGV/0x00000000 0x0 driver+0x47 driver+0x1eb0
    8454c24e990ed208b7adbcee77b3581f0e8eac58ce8f893a117c65827be2a62f breakpad-linux_jmp_to_0.dmp 35413 SIGSEGV/0x00000000 0x0 0x0 driver+0x213e
    b92da7085a42dcdfbae8ca41f37baebd3413db56318a20bbd572e4568a25ecab breakpad-linux_jmp_to_module_not_exe_region.dmp 111239 SIGSEGV/0x00000000 0x616500 0x616500 driver+0x1eb0
    1d82d1d98bb46fb9aa3498fce733e724e9b501824f8b8a36de22066d6d4bca33 breakpad-linux_null_dereference.dmp 20520 SIGSEGV/0x00000000 0x0 driver+0x1f26 driver+0x1fcd
    1b7ad28cf33656e1a7276ba4c6a0f614f7809a0d97de59ecc6161e807f793df7 breakpad-linux_null_read_av.dmp 11506 SIGSEGV/0x00000000 0x0 null_read_av+0x2170
    7dc9d94eb663b810400b274ff0c3bc17234a2c8c8fcead17c39904a50e47dcc4 breakpad-linux_outside_module.dmp 32090 SIGSEGV/0x00000000 0x29cd74 0x29cd74 driver+0x1f00
    f35025956cfd514e0774dc829a3925f1741836258cfc9a61f1daffb9f3e2f6a1 breakpad-linux_overflow.dmp 14782 SIGABRT - libc-2.13.so+0x32475
    b7176442b988818455cc2589b629f57d7532fbb07231194c84a09e6b21303771 breakpad-linux_raise_sigabrt.dmp 23526 SIGABRT - libpthread-2.19.so+0x1020b driver+0x1f05
    0b0a30ae7670f203f69f6efa953a81382836acc1d0d0af6a92d8b3b8944162cd breakpad-linux_stack_pointer_in_module.dmp 20520 SIGSEGV/0x00000000 0x0 driver+0x1f26 driver+0x1fcd
    a636936d303670340277f92414a08c179e5cca060cc5194c7771502c76af0b4e breakpad-linux_stack_pointer_in_stack.dmp 20520 SIGSEGV/0x00000000 0x0 driver+0x1f26 driver+0x1fcd
    882f3829cb2146c863b276950f4067c692278520f43c5386b2d29018371b34be breakpad-linux_stack_pointer_in_stack_alt_name.dmp 20520 SIGSEGV/0x00000000 0x0 driver+0x1f26 driver+0x1fcd
    5c02f3ec94cac52109040b01a02fb4c353dc824dd40ff32b914a87604a962619 breakpad-linux_stacksmash.dmp 14779 SIGSEGV/0x00000000 0x0 libgcc_s.so.1+0xf730
    6a8ef5f6bad04252381bdb5a811adb4b48db3df95d0038c7a92238497f1e1677 breakpad-linux_write_to_nonwritable_module.dmp 111036 SIGSEGV/0x00000000 0x410000 driver2+0x1e16 driver2+0x1ebd
    ddebb6c5a5494651ed5f7e860981f48965f45ed0875a441c30bdf261824e2a81 breakpad-linux_write_to_nonwritable_region_math.dmp 111132 SIGSEGV/0x00000000 0x72eb80 driver5+0x1e1c driver5+0x1ec3
    89f6d5d7de52c89bf346bdf1d280b955d2360d4399523a5026a0d6b4f62685d6 breakpad-linux_write_to_outside_module.dmp 111070 SIGSEGV/0x00000000 0x390000 driver3+0x1e16 driver3+0x1ebd
    90e6d7fd383008f2fd97a26739a218437128cc7e0f75524bd19c5cfd47775fa4 breakpad-linux_write_to_outside_module_via_math.dmp 111102 SIGSEGV/0x00000000 0x732b80 driver4+0x1e1c driver4+0x1ec3
    d08f70d45de68edec6f5c68c81d662d75191398d3c3441d0516b11d4c1fd820c breakpad-linux_write_to_under_4k.dmp 110993 SIGSEGV/0x00000000 0xf93 driver1+0x1e16 driver1+0x1ebd
    24b0ea7794b2d2523c46c9aea72c03ccbb0ab88ad76d8258d3752c7b71d233ff breakpad-minidump2.dmp refused
    1f4f68ba3f76205afc3dc5b1a582656239dc8ef7cdee34f0782d8ef18edb64bb breakpad-minidump_32bit_crash_addr.dmp refused
    ebce58fefd64d3111922061624e1d925f5756a4be5e3fe949b5a4c788cad0ca6 breakpad-minidump_crashpad_annotation.dmp 4779401 0x43506e78/0x00000000 0x1030e9c34 ios_crash_xcuitests+0x6bc34 ios_crash_xcuitests+0x6a091 libobjc.A.dylib+0x21ba2 CoreFoundation+0x1c82 ios_crash_xcuitests+0x5575a UIKitCore+0x8452f1 UIKitCore+0x84eddc UIKitCore+0x84bb8b
    b1d52c8e486b40627c9b77570d870eeb939f0fbdeaded24b27880f93cc12cb69 breakpad-null_read_av.dmp refused
    047e5487dc8f96b9159f490b68d018b1438d24da8792b035b13ee50bf016d595 breakpad-null_write_av.dmp refused
    dfbe34bc67902728db8d709bdb358970c480a36e7589572b5fb2815c1346e710 breakpad-read_av_clobber_write.dmp refused
    99822bcd86ad3b00d151f538f292c635661f3df38754d18c16fd4e255a96f772 breakpad-read_av_conditional.dmp refused
    0ad4f28adf5fb8a5752abdbef98153321a3038835b2baa7d2726bda10ae69118 breakpad-read_av_non_null.dmp refused
    f7723f40eb7c368a5b564ae333d55b44040a73ab250832029417375c7570a18c breakpad-stack_exhaustion.dmp refused
    c08078299905671c7d7607523ff64904a9706d329da9c0e4929196c89ac0a4d9 breakpad-thread_name_list.dmp refused
    573d69f38407ac3414e4afdc61fab7a32f706fa14512a35bb92a60ad625d6eae breakpad-tiny-exe-fastfail.dmp 24440 EXCEPTION_STACK_BUFFER_OVERRUN 0x7ff75355af42 tiny.exe+0x1af42
    68d6f28d65d2e2946405f6c5a60f547b8a762a2368ab2856bd0703c20f8d94a9 breakpad-tiny-exe-with-cet-xsave-x86.dmp refused
    2e852e97737158a795ea4b588addd95c9ece2a6c84ba4f77a82fb44d008709a7 breakpad-tiny-exe-with-cet-xsave.dmp none
    7012f0b943f5eacf681bcb29fc2766b75b87da1664280eaadc5dfa024f0a3abf breakpad-write_av_non_canonical.dmp 4488 EXCEPTION_ACCESS_VIOLATION_READ 0xffffffffffffffff crash.exe+0x1331
    b37b6d54f43eda1b8318bfb979bdde74c2093a263a147717b1e7607e2c34dd71 breakpad-write_av_non_null.dmp refused
    5edaec6b6d8e360c8f26c5907d3ccb29d79cfd4c66d617b23005a2f1396aff9b rust-minidump-invalid-parameter.dmp 5896 0xc000000d/0x00000000 0x0 CrashTest.exe+0x7a9a3
    ec4b64062545eb9874d25037bf0624c96a49098eed20b595344c72d344381576 rust-minidump-linux-mini.dmp 1304 SIGSEGV/0x00000000 0x45 crash+0x1d72
    9915eb2943ae16e6b6e50cf4bfa5c818032f2c7b3b85e1fa91d5296fad22b707 rust-minidump-pipeline-inlines-macos-segv.dmp 4611 EXC_BAD_ACCESS/KERN_INVALID_ADDRESS 0xffffffff80000042 crash-client+0x14cd4 crash-client+0x423d crash-client+0x6045 crash-client+0x5c0b crash-client+0x833ed crash-client+0x4418 libdyld.dylib+0x15f3c
    eeac82c333080aa59a5815424b09eeb7f3f223f8fe18b7c50a361bd9c9d75148 rust-minidump-simple-crashpad.dmp 927532 0x00000000/0x00000000 0x7fff6f41333a libsystem_kernel.dylib+0x733a libsystem_c.dylib+0x7f807 crashy+0x3f8a libdyld.dylib+0x1acc8
    f5e0a41fed9f320c93c59f3ae7a2a9fd305cbda0743bb95f36d2dd76ba96860f symbolic-crash_linux.dmp 133 SIGSEGV/0x00000000 0x0 crash_linux+0x206d
    4d5d6fc510a49a55aeb1900b5734ba645a0b0916167e48e06b7b67445a0596ea symbolic-crash_macos.dmp 775 EXC_BAD_ACCESS/KERN_INVALID_ADDRESS 0x45 crash_macos+0x13a1
    """
}
