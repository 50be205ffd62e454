# A toolchain file: builds for arm64 with the compilers of Debian's
# crossbuild-essential-arm64, against the libraries of arm64 that are installed
# beside those of this machine (scripts/package 13 arm64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Libraries of one architecture only; headers are shared, and protoc is this
# machine's.
set(CMAKE_IGNORE_PREFIX_PATH /usr/local)
set(CMAKE_SYSTEM_LIBRARY_PATH /usr/lib/aarch64-linux-gnu)
set(PKG_CONFIG_EXECUTABLE /usr/bin/aarch64-linux-gnu-pkg-config)

# For what is run during the installation, and for ctest.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
