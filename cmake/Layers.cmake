# Targets every layer shares: warnings, sanitizers, include paths.
add_library(pt_flags INTERFACE)
target_include_directories(pt_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include)
target_compile_options(pt_flags INTERFACE -Wall -Wextra -Wconversion $<$<BOOL:${PT_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(pt_flags INTERFACE -Wno-restrict)  # false for "text" + std::to_string(n), GCC bug 105651
endif()
target_link_libraries(pt_flags INTERFACE Threads::Threads)
if(PT_SANITIZE)
  add_compile_options(-fsanitize=${PT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PT_SANITIZE})
endif()

find_program(PT_CCACHE ccache)
if(PT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${PT_CCACHE})
endif()

# pt_layer(NAME USES LAYER...): the object library of lib/NAME, sub-folders included.
function(pt_layer name)
  cmake_parse_arguments(arg "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/${name}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_library(pt_${name} OBJECT ${sources})
  target_link_libraries(pt_${name} PUBLIC pt_flags)
  set_property(GLOBAL APPEND PROPERTY PT_LAYERS ${name})
endfunction()
