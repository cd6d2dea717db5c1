# What the CMake files of all plugins share. A plugin is part of the build of the whole, or built on its own for an installed
# partitiontuner: cmake -B build -DCMAKE_PREFIX_PATH=<where it is>.
if(NOT TARGET partitiontuner)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
  endif()
  find_package(partitiontuner 0 CONFIG REQUIRED COMPONENTS core)
  add_library(pt_flags INTERFACE)
  target_include_directories(pt_flags INTERFACE ${CMAKE_CURRENT_LIST_DIR}/../..)
endif()

# pt_plugin_switch(NAME TEXT): PARTITIONTUNER_<NAME>, with AUTO for where the headers are found. Off: returns from the
# caller.
macro(pt_plugin_switch name text)
  set(PARTITIONTUNER_${name} AUTO CACHE STRING "${text}: AUTO (where its headers are found), ON or OFF")
  set_property(CACHE PARTITIONTUNER_${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT PARTITIONTUNER_${name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PARTITIONTUNER_${name} is AUTO, ON or OFF, not '${PARTITIONTUNER_${name}}'.")
  endif()
  if(PARTITIONTUNER_${name} STREQUAL "OFF")
    pt_plugin_says(${name} "left out (PARTITIONTUNER_${name}=OFF)")
    return()
  endif()
endmacro()

# What the summary of the whole build says of a plugin.
function(pt_plugin_says name text)
  set_property(GLOBAL PROPERTY PT_${name}_TEXT "${text}")
endfunction()

# pt_plugin_left_out(NAME TEXT WHY): an error where the plugin was asked for; the caller returns.
function(pt_plugin_left_out name text why)
  if(PARTITIONTUNER_${name} STREQUAL "ON")
    message(FATAL_ERROR "The plugin ${name} cannot be built: ${why}.")
  endif()
  pt_plugin_says(${name} "${text}${why}")
endfunction()

# The number that a header defines a macro as; 0 where there is no such header or macro.
function(pt_defined_number header macro result)
  set(number 0)
  if(EXISTS "${header}")
    file(STRINGS "${header}" line REGEX "^#define ${macro} [0-9]+")
    string(REGEX REPLACE "[^0-9]" "" number "${line}")
  endif()
  if(number STREQUAL "")
    set(number 0)
  endif()
  set(${result} ${number} PARENT_SCOPE)
endfunction()

# pt_plugin(NAME OUTPUT FOLDER [EXCEPT FILE...] LINK LIBRARY...): the targets NAME_objects, all of the caller's folder but
# plugin.cc and the files named, which tests link too, and NAME_plugin, the shared object NAME.so in FOLDER of the build.
function(pt_plugin name)
  cmake_parse_arguments(arg "" "OUTPUT" "EXCEPT;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(file plugin.cc ${arg_EXCEPT})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  add_library(${name}_objects OBJECT ${sources})
  target_link_libraries(${name}_objects PUBLIC ${arg_LINK} PRIVATE $<TARGET_NAME_IF_EXISTS:pt_hardened>)
  add_library(${name}_plugin MODULE plugin.cc)
  target_link_libraries(${name}_plugin PRIVATE ${name}_objects $<TARGET_NAME_IF_EXISTS:pt_hardened>)
  set_target_properties(${name}_objects ${name}_plugin PROPERTIES CXX_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  # Installed, it finds the library from where that looks for it.
  set_target_properties(${name}_plugin PROPERTIES PREFIX "" OUTPUT_NAME ${name} INSTALL_RPATH "$ORIGIN/../.."
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${arg_OUTPUT})
endfunction()

# What the plugins around other programs' runtimes share.
function(pt_need_plugins_shared)
  if(NOT TARGET pt_plugins_shared)
    add_subdirectory(${CMAKE_CURRENT_FUNCTION_LIST_DIR} shared)
  endif()
endfunction()
