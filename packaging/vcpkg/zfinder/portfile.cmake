# An overlay port of the C library. It needs Rust 1.95 or newer on the machine: vcpkg has no Rust,
# so that its own registry would not take this port.
vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO OWNER/zfinder
  REF "v${VERSION}"
  # Unknown before the tag exists; with 0, vcpkg prints it.
  SHA512 0
)
find_program(CARGO cargo PATHS "$ENV{HOME}/.cargo/bin" REQUIRED)

# Programs of both configurations link the release build, whose interface is C.
set(VCPKG_BUILD_TYPE release)
# The files for CMake name the library by its place relative to theirs, so that they stay in lib.
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)

set(TARGET_DIR "${CURRENT_BUILDTREES_DIR}/target")
vcpkg_execute_required_process(
  COMMAND "${CMAKE_COMMAND}" -E env "CARGO_TARGET_DIR=${TARGET_DIR}"
    "${CARGO}" build --release --locked -p zfinder-capi
  WORKING_DIRECTORY "${SOURCE_PATH}"
  LOGNAME "build-${TARGET_TRIPLET}"
)
vcpkg_execute_required_process(
  COMMAND "${CMAKE_COMMAND}" -E env "CARGO_TARGET_DIR=${TARGET_DIR}"
    "${SOURCE_PATH}/crates/zfinder-capi/install" "${CURRENT_PACKAGES_DIR}"
  WORKING_DIRECTORY "${SOURCE_PATH}"
  LOGNAME "install-${TARGET_TRIPLET}"
)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE")
