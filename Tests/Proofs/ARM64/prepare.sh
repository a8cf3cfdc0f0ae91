#!/bin/bash
# Unpacks the packages of Packages.txt, and compiles Dispatch's interface for this machine's compiler: Debian has that of its own alone.
#   prepare.sh PACKAGES ROOT TOOLCHAIN
set -euo pipefail
packages=$1 root=$2 toolchain=$3
swift=usr/libexec/swift/lib/swift
mkdir -p "$root"/usr/{lib,bin}
ln -sfn usr/lib "$root/lib"
ln -sfn usr/bin "$root/bin"
ln -sfn ../libexec/swift/lib/swift "$root/usr/lib/swift"
for package in "$packages"/*.deb; do
  case $package in
    # All but the compiler, which is for another processor.
    */swiftlang_*) dpkg-deb --fsys-tarfile "$package" | tar -xC "$root" --wildcards "./$swift/linux*" "./$swift/shims*" \
      "./$swift/dispatch*" "./$swift/Block*" "./$swift/os*" "./$swift/apinotes*" ;;
    *) dpkg-deb --fsys-tarfile "$package" | tar -xC "$root" --keep-directory-symlink ;;
  esac
done
rm -rf "$root/usr/share"
ln -sfn "$(ls -d "$toolchain"/usr/lib/clang/*/ | tail -1)" "$root/$swift/clang"
sources=$packages/sources
mkdir -p "$sources"
tar -xJf "$packages"/swiftlang_*.orig.tar.xz -C "$sources" --strip-components=1 --wildcards '*/swift-corelibs-libdispatch/src/swift/*'
cd "$sources/swift-corelibs-libdispatch/src/swift"
rm -f "$root/$swift"/linux/aarch64/Dispatch.swift*
"$toolchain/usr/bin/swiftc" -target aarch64-unknown-linux-gnu -sdk "$root" -resource-dir "$root/$swift" -Xfrontend -module-load-mode \
  -Xfrontend prefer-interface -swift-version 5 -O -module-name Dispatch -module-link-name swiftDispatch -parse-as-library \
  -emit-module -emit-module-path "$root/$swift/linux/aarch64/Dispatch.swiftmodule" -Xcc -fblocks -Xcc -I"$root/$swift" \
  -Xcc -fmodule-map-file="$root/$swift/dispatch/module.modulemap" -Xcc -Ishims ./*.swift
