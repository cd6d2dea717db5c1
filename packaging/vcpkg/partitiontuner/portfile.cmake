# An overlay port: vcpkg install partitiontuner --overlay-ports=packaging/vcpkg --triplet x64-linux-dynamic. It builds the source
# tree that it lies in, and an ONNX of its own from the archive that ./setup has fetched.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
set(VCPKG_BUILD_TYPE release)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_find_acquire_program(NINJA)
set(ENV{PKG_CONFIG} "${PKGCONFIG}")
set(ENV{PKG_CONFIG_PATH} "${CURRENT_INSTALLED_DIR}/lib/pkgconfig")

vcpkg_execute_required_process(
  COMMAND "${SOURCE_PATH}/packaging/build-with-own-onnx" "${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-rel" "${CURRENT_PACKAGES_DIR}"
          "-DCMAKE_MAKE_PROGRAM=${NINJA}" "-DCMAKE_PREFIX_PATH=${CURRENT_INSTALLED_DIR}"
          "-DCMAKE_PROGRAM_PATH=${CURRENT_HOST_INSTALLED_DIR}/tools/protobuf"
  WORKING_DIRECTORY "${CURRENT_BUILDTREES_DIR}"
  LOGNAME "build-${TARGET_TRIPLET}")

vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/partitiontuner)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES pt-profile pt-plan pt-run pt-make-example AUTO_CLEAN)
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/packaging/debian/copyright")
