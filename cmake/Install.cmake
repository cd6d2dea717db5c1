# The installed tree: bin, lib, include, lib/cmake, lib/pkgconfig, share. It may be moved as a whole. Its components are those
# that distributions make packages of (Packages.cmake): library, development, tools, plugin_<NAME>; and licence, which
# each package has in a form of its own.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(pt_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/partitiontuner)
set(pt_share_dir ${CMAKE_INSTALL_DATADIR}/partitiontuner)

install(TARGETS partitiontuner EXPORT partitiontuner-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(header ${pt_application_tier} ${pt_plugin_tier})
  set(source ${PROJECT_SOURCE_DIR}/include/partitiontuner/${header})
  if(header STREQUAL version.h)
    set(source ${PROJECT_BINARY_DIR}/include/partitiontuner/${header})
  endif()
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/partitiontuner/${folder} COMPONENT development)
endforeach()

# Programs find the library beside them, wherever the tree lies.
file(RELATIVE_PATH pt_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
foreach(program pt-profile pt-plan pt-run pt-make-example)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${pt_bin_to_lib}")
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  endif()
endforeach()

# Man pages and completions, written by the tools themselves from the table of their flags.
set(pt_describe_man "man/man1/@.1")
set(pt_describe_bash "bash-completion/completions/@")
set(pt_describe_zsh "zsh/site-functions/_@")
set(pt_describe_fish "fish/vendor_completions.d/@.fish")
set(pt_descriptions "")
foreach(program pt-profile pt-plan pt-run)
  if(NOT TARGET ${program} OR CMAKE_CROSSCOMPILING)
    continue()
  endif()
  foreach(form man bash zsh fish)
    string(REPLACE "@" ${program} place ${pt_describe_${form}})
    set(file ${PROJECT_BINARY_DIR}/share/${place})
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(destination ${place} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${file} COMMAND ${program} --describe ${form} > ${file} DEPENDS ${program} VERBATIM)
    list(APPEND pt_descriptions ${file})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination} COMPONENT tools)
  endforeach()
endforeach()
add_custom_target(pt_descriptions ALL DEPENDS ${pt_descriptions})
install(FILES ${PROJECT_SOURCE_DIR}/examples/pt-make-example.1 DESTINATION ${CMAKE_INSTALL_DATADIR}/man/man1 COMPONENT tools)

install(EXPORT partitiontuner-targets NAMESPACE partitiontuner:: DESTINATION ${pt_package_dir} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/partitiontuner-config.cmake.in
                              ${PROJECT_BINARY_DIR}/package/partitiontuner-config.cmake INSTALL_DESTINATION ${pt_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/partitiontuner-config-version.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/partitiontuner-config.cmake
              ${PROJECT_BINARY_DIR}/package/partitiontuner-config-version.cmake DESTINATION ${pt_package_dir}
        COMPONENT development)

# Plugins lie where the library looks for them, and find it from there (plugins/shared/plugin.cmake); OpenVINO and ONNX
# Runtime are found where they were at build time.
foreach(plugin cuda openvino onnxruntime)
  if(TARGET ${plugin}_plugin)
    install(TARGETS ${plugin}_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/partitiontuner/plugins
            COMPONENT plugin_${plugin})
  endif()
endforeach()

file(RELATIVE_PATH pt_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/partitiontuner.pc.in ${PROJECT_BINARY_DIR}/package/partitiontuner.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/partitiontuner.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

# pt_install_folder(NAME COMPONENT): a folder of the source tree as share/partitiontuner/NAME.
function(pt_install_folder name component)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${name}/ DESTINATION ${pt_share_dir}/${name} COMPONENT ${component}
          REGEX "/${name}/(CMakeLists.txt|[^/]*\\.1)$" EXCLUDE)
endfunction()
pt_install_folder(examples development)
pt_install_folder(profiles tools)
file(GLOB_RECURSE pt_schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.schema.json)
install(FILES ${pt_schemas} DESTINATION ${pt_share_dir}/schema COMPONENT tools)
install(FILES ${PROJECT_BINARY_DIR}/package/partitiontuner.spdx.json DESTINATION ${pt_share_dir} COMPONENT library)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
