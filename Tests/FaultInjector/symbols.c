// Finds functions of the victim from its symbol table and its load address. Source: elf(5),
// proc_pid_maps(5).
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injector.h"

// The lowest address at which the executable is mapped.
static uint64_t load_address(pid_t process, const char *executable) {
  char path[64], line[PATH_MAX + 128], real[PATH_MAX];
  if (!realpath(executable, real)) return 0;
  snprintf(path, sizeof path, "/proc/%d/maps", process);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  uint64_t result = 0;
  while (result == 0 && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    const char *name = strchr(line, '/');
    if (name && strcmp(name, real) == 0) result = strtoull(line, NULL, 16);
  }
  fclose(file);
  return result;
}

// The value of the symbol with a name, or of the only one whose name contains it: Swift's names are
// long.
static uint64_t find(const char *image, const char *name) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff);
  uint64_t part = 0;
  int parts = 0;
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char *names = image + sections[sections[i].sh_link].sh_offset;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(image + sections[i].sh_offset);
    for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++) {
      if (ELF64_ST_TYPE(symbols[j].st_info) != STT_FUNC || symbols[j].st_value == 0) continue;
      const char *candidate = names + symbols[j].st_name;
      if (strcmp(candidate, name) == 0) return symbols[j].st_value;
      if (strstr(candidate, name) && symbols[j].st_value != part) {
        part = symbols[j].st_value;
        parts++;
      }
    }
  }
  return parts == 1 ? part : 0;
}

uint64_t symbol_address(pid_t process, const char *executable, const char *name) {
  int file = open(executable, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return 0;
  char *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (image == MAP_FAILED) return 0;
  uint64_t value = find(image, name);
  // The addresses in a position-independent executable begin at 0; other executables are loaded at the addresses in
  // their headers.
  uint64_t base = ((const Elf64_Ehdr *)image)->e_type == ET_DYN ? load_address(process, executable) : 0;
  munmap(image, (size_t)status.st_size);
  return value == 0 ? 0 : value + base;
}
