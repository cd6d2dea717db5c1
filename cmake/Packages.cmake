# Debian packages, one for each component of the installed tree: cmake --preset package, build it, then cpack -G DEB in its
# folder. docs/packages.md
find_program(PT_DPKG_SHLIBDEPS dpkg-shlibdeps)
pt_need(PT_DPKG_SHLIBDEPS "dpkg-shlibdeps (package dpkg-dev), which computes what the packages depend on,")
set(PT_PACKAGE_MAINTAINER "partitiontuner developers <partitiontuner@localhost>" CACHE STRING
    "Who answers for the packages: NAME <ADDRESS>")
set(PT_PACKAGE_REVISION 1 CACHE STRING "Counts the packages that are made of one version")

set(pt_soname_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(pt_deb_version ${PROJECT_VERSION}-${PT_PACKAGE_REVISION})
set(pt_deb_folder ${PROJECT_SOURCE_DIR}/packaging/debian)
file(STRINGS ${pt_deb_folder}/changelog pt_deb_latest LIMIT_COUNT 1)
if(NOT pt_deb_latest MATCHES "^partitiontuner \\(${PROJECT_VERSION}-")
  message(FATAL_ERROR "The first entry of packaging/debian/changelog is '${pt_deb_latest}', not one of version "
                      "${PROJECT_VERSION}. Add one.")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME partitiontuner)
set(CPACK_PACKAGE_VENDOR partitiontuner)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # it would stand in front of those of the packages
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
# Strips, and adds and moves what Debian has in each package besides what is installed, and in other places.
set(CPACK_PRE_BUILD_SCRIPTS ${pt_deb_folder}/stage.cmake)
set(CPACK_PT_DEB_FOLDER ${pt_deb_folder})
set(CPACK_PT_CHANGELOG ${PROJECT_SOURCE_DIR}/CHANGELOG.md)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${PT_PACKAGE_REVISION})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${PT_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Where the library itself is found; which of its packages that is, the rows below say.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)

# pt_deb(COMPONENT PACKAGE SECTION SUMMARY TEXT [FIELD VALUE]...): the package of a component, with more fields.
set(CPACK_COMPONENTS_ALL "")
macro(pt_deb component package section summary text)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} pt_deb_component)
  set(CPACK_DEBIAN_${pt_deb_component}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${pt_deb_component}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${pt_deb_component}_DESCRIPTION "${summary}\n${text}")
  set(pt_deb_fields ${ARGN})
  while(pt_deb_fields)
    list(POP_FRONT pt_deb_fields pt_deb_field pt_deb_value)
    set(CPACK_DEBIAN_${pt_deb_component}_PACKAGE_${pt_deb_field} "${pt_deb_value}")
  endwhile()
endmacro()

set(pt_deb_about "partitiontuner measures every operator of an ONNX model on every unit of a
machine, searches for the plan with the smallest makespan, proves the plan
legal and runs it.
.
This package contains")
set(pt_deb_library libpartitiontuner${pt_soname_version})
# Tools and plugins use more than the interface that a soname stands for, and plugins are refused by any other version.
set(pt_deb_same_version "${pt_deb_library} (= ${pt_deb_version})")

pt_deb(library ${pt_deb_library} libs "library that runs neural networks by measured plans"
       "${pt_deb_about} the shared library.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/shlibs ${pt_deb_folder}/triggers)
# Versions of one minor version keep the interface, before 1.0 as well: tools/abi-check holds them to it.
file(CONFIGURE OUTPUT package/shlibs
     CONTENT "libpartitiontuner ${pt_soname_version} ${pt_deb_library} (>= ${PROJECT_VERSION})\n")
pt_deb(development libpartitiontuner-dev libdevel
       "library that runs neural networks by measured plans - development files"
       "${pt_deb_about} the headers, the files for CMake and pkg-config, and\nexamples."
       DEPENDS "${pt_deb_same_version}")
pt_deb(tools partitiontuner-tools science "programs that measure, plan and run neural networks"
       "${pt_deb_about} pt-profile, pt-plan, pt-run and pt-make-example."
       DEPENDS "${pt_deb_same_version}")
if(TARGET cuda_plugin)
  pt_deb(plugin_cuda partitiontuner-plugin-cuda libs
         "neural networks by measured plans - plugin for NVIDIA devices"
         "${pt_deb_about} the plugin for NVIDIA devices. It looks up the libraries
of CUDA 13 when it is loaded; without them it lists no device."
         DEPENDS "${pt_deb_same_version}")
endif()
if(TARGET onnxruntime_plugin)
  pt_deb(plugin_onnxruntime partitiontuner-plugin-onnxruntime libs
         "neural networks by measured plans - plugin for ONNX Runtime"
         "${pt_deb_about} the plugin that offers ONNX Runtime's kernels. It looks
up ONNX Runtime's shared object when it is loaded; without it, the plugin is
listed with that reason."
         DEPENDS "${pt_deb_same_version}")
endif()
if(TARGET openvino_plugin)
  message(FATAL_ERROR "There is no package for the plugin openvino: Debian has no OpenVINO that it could depend on. Build with "
                      "-DPARTITIONTUNER_OPENVINO=OFF.")
endif()
include(CPack)
