extension ProcessSnapshot {
  /// The address of the program's own module among some: that with its entry point, as the
  /// auxiliary vector tells, or else the one of the executable's path.
  package func mainModuleAddress(in modules: [ModuleSnapshot]) -> Address? {
    if let vector = process.auxiliaryVector?[...] {
      var offset = 0
      while let type = vector.littleEndian(at: offset, width: 8),
        let value = vector.littleEndian(at: offset + 8, width: 8)
      {
        offset += 16
        // AT_ENTRY; source: getauxval(3).
        if type == 9, let module = modules.first(where: { $0.contains(Address(value)) }) {
          return module.address
        }
      }
    }
    return modules.first { $0.path == process.executablePath }?.address
  }

  /// Puts the program's annotations on its own module too, where Crashpad's clients have them.
  mutating func spreadClientAnnotations() {
    let objects = client.annotations.compactMap { annotation in
      annotation.name.flatMap { name in
        annotation.text.map {
          ModuleAnnotations.Object(name: name, type: 1, value: Array($0.utf8))
        }
      }
    }
    guard !objects.isEmpty, let address = mainModuleAddress(in: modules),
      let index = modules.firstIndex(where: { $0.address == address })
    else { return }
    modules[index].annotations.objects = objects
  }
}
