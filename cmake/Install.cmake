# The installed tree: bin, lib, include, lib/cmake, lib/pkgconfig, share. It may be moved as a whole.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(pt_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/partitiontuner)
set(pt_share_dir ${CMAKE_INSTALL_DATADIR}/partitiontuner)

install(TARGETS partitiontuner EXPORT partitiontuner-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(header ${pt_application_tier} ${pt_plugin_tier})
  set(source ${PROJECT_SOURCE_DIR}/include/partitiontuner/${header})
  if(header STREQUAL version.h)
    set(source ${PROJECT_BINARY_DIR}/include/partitiontuner/${header})
  endif()
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/partitiontuner/${folder})
endforeach()

# Programs find the library beside them, wherever the tree lies.
file(RELATIVE_PATH pt_bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
foreach(program pt-profile pt-plan pt-run pt-make-example)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${pt_bin_to_lib}")
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
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
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination})
  endforeach()
endforeach()
add_custom_target(pt_descriptions ALL DEPENDS ${pt_descriptions})

install(EXPORT partitiontuner-targets NAMESPACE partitiontuner:: DESTINATION ${pt_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/partitiontuner-config.cmake.in
                              ${PROJECT_BINARY_DIR}/package/partitiontuner-config.cmake INSTALL_DESTINATION ${pt_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/partitiontuner-config-version.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/partitiontuner-config.cmake
              ${PROJECT_BINARY_DIR}/package/partitiontuner-config-version.cmake DESTINATION ${pt_package_dir})

# Plugins lie where the library looks for them, and find it from there (plugins/shared/plugin.cmake); OpenVINO and ONNX
# Runtime are found where they were at build time.
foreach(plugin cuda openvino onnxruntime)
  if(TARGET ${plugin}_plugin)
    install(TARGETS ${plugin}_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/partitiontuner/plugins)
  endif()
endforeach()

file(RELATIVE_PATH pt_pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/partitiontuner.pc.in ${PROJECT_BINARY_DIR}/package/partitiontuner.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/partitiontuner.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(folder examples profiles)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${pt_share_dir}/${folder}
            REGEX "/${folder}/CMakeLists.txt$" EXCLUDE)
  endif()
endforeach()
file(GLOB_RECURSE pt_schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.schema.json)
install(FILES ${pt_schemas} DESTINATION ${pt_share_dir}/schema)
install(FILES ${PROJECT_BINARY_DIR}/package/partitiontuner.spdx.json DESTINATION ${pt_share_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
