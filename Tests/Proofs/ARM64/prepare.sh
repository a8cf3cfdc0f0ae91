#!/bin/bash
# Unpacks the packages of Packages.txt, and compiles Dispatch's interface for this machine's compiler: Debian has the
# compiled module for its own compiler only.
#
#   prepare.sh PACKAGES ROOT TOOLCHAIN MODULE-CACHE
set -euo pipefail
packages=$1 root=$2 toolchain=$3 cache=$4
swift=usr/libexec/swift/lib/swift
mkdir -p "$root"/usr/{lib,bin}
ln -sfn usr/lib "$root/lib"
ln -sfn usr/bin "$root/bin"
ln -sfn ../libexec/swift/lib/swift "$root/usr/lib/swift"
for package in "$packages"/*.deb; do
  case $package in
    # Unpacks only the libraries of the compiler's package, because the compiler is for another processor.
    */swiftlang_*) python3 "$(dirname "$0")/unpack.py" "$package" "$root" "$swift"/{linux,shims,dispatch,Block,os,apinotes} ;;
    *) dpkg-deb --fsys-tarfile "$package" | tar -xC "$root" --keep-directory-symlink ;;
  esac
done
rm -rf "$root/usr/share"
ln -sfn "$(ls -d "$toolchain"/usr/lib/clang/*/ | tail -1)" "$root/$swift/clang"
sources=$packages/sources
mkdir -p "$sources"
source=$(basename "$packages"/swiftlang_*.orig.tar.xz .orig.tar.xz)
overlay=$(printf "${source/_/-}/swift-corelibs-libdispatch/src/swift/%s " {Block,Data,Dispatch,IO,Private,Queue,Source,Time,Wrapper}.swift \
  shims/{DispatchOverlayShims.h,module.modulemap})
# tar stops after the last of these files, which saves the last quarter of the archive.
# shellcheck disable=SC2086
tar -xJf "$packages/$source.orig.tar.xz" -C "$sources" --strip-components=1 --occurrence=1 $overlay
cd "$sources/swift-corelibs-libdispatch/src/swift"
rm -f "$root/$swift"/linux/aarch64/Dispatch.swift*
"$toolchain/usr/bin/swiftc" -target aarch64-unknown-linux-gnu -sdk "$root" -resource-dir "$root/$swift" -Xfrontend -module-load-mode \
  -Xfrontend prefer-interface -module-cache-path "$cache" -swift-version 5 -O -module-name Dispatch -module-link-name swiftDispatch -parse-as-library \
  -emit-module -emit-module-path "$root/$swift/linux/aarch64/Dispatch.swiftmodule" -Xcc -fblocks -Xcc -I"$root/$swift" \
  -Xcc -fmodule-map-file="$root/$swift/dispatch/module.modulemap" -Xcc -Ishims ./*.swift
