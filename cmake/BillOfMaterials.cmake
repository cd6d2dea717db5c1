# What the library is built with, by name, version and licence: for --version, and for the bill of materials (SPDX 2.3) that
# is installed. Included after Dependencies.cmake, which has found them.
set(pt_bill_rows "")
# pt_built_with(NAME VERSION LICENCE PLACE): LICENCE by its SPDX identifier, PLACE where its sources are.
function(pt_built_with name version licence place)
  if(NOT version)
    message(FATAL_ERROR "The version of ${name} is not known; the bill of materials needs it.")
  endif()
  set(pt_bill_rows ${pt_bill_rows} "${name}|${version}|${licence}|${place}" PARENT_SCOPE)
endfunction()

# The static library of ONNX says nothing of itself; the package beside it does.
get_filename_component(pt_onnx_folder ${PT_ONNX_LIBRARY} DIRECTORY)
file(STRINGS ${pt_onnx_folder}/cmake/ONNX/ONNXConfigVersion.cmake pt_onnx_version REGEX "^set\\(PACKAGE_VERSION ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" pt_onnx_version "${pt_onnx_version}")

pt_built_with(ONNX "${pt_onnx_version}" Apache-2.0 https://github.com/onnx/onnx)
pt_built_with("Protocol Buffers" "${protobuf_lite_VERSION}" BSD-3-Clause https://github.com/protocolbuffers/protobuf)
if(PT_BACKEND_ONEDNN)
  pt_built_with(oneDNN "${dnnl_VERSION}" Apache-2.0 https://github.com/uxlfoundation/oneDNN)
endif()
if(hwy_FOUND)
  pt_built_with(Highway "${hwy_VERSION}" Apache-2.0 https://github.com/google/highway)
endif()
pt_built_with(Eigen "${Eigen3_VERSION}" MPL-2.0 https://gitlab.com/libeigen/eigen)
pt_built_with(SQLite "${SQLite3_VERSION}" blessing https://sqlite.org)
pt_built_with(hwloc "${hwloc_VERSION}" BSD-3-Clause https://github.com/open-mpi/hwloc)
pt_built_with(nlohmann-json "${nlohmann_json_VERSION}" MIT https://github.com/nlohmann/json)
pt_built_with(xxHash "${xxhash_VERSION}" BSD-2-Clause https://github.com/Cyan4973/xxHash)
pt_built_with(CLI11 "${CLI11_VERSION}" BSD-3-Clause https://github.com/CLIUtils/CLI11)

# One bill for one set of versions: its name holds their hash.
string(SHA256 PT_BILL_HASH "${PROJECT_VERSION} ${pt_bill_rows}")
string(TIMESTAMP PT_BILL_TIME UTC)  # SOURCE_DATE_EPOCH where it is set
set(PT_BILL_TABLE "")
set(PT_BILL_PACKAGES "")
set(PT_BILL_RELATIONSHIPS "")
foreach(row ${pt_bill_rows})
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 name)
  list(GET row 1 version)
  list(GET row 2 licence)
  list(GET row 3 place)
  string(MAKE_C_IDENTIFIER "${name}" id)
  string(REPLACE "_" "-" id "${id}")
  string(APPEND PT_BILL_TABLE "    {\"${name}\", \"${version}\"},\n")
  string(APPEND PT_BILL_PACKAGES ",\n    {\"SPDXID\": \"SPDXRef-${id}\", \"name\": \"${name}\", \"versionInfo\": \"${version}\", "
         "\"downloadLocation\": \"${place}\", \"filesAnalyzed\": false, \"licenseConcluded\": \"${licence}\", "
         "\"licenseDeclared\": \"${licence}\", \"copyrightText\": \"NOASSERTION\"}")
  string(APPEND PT_BILL_RELATIONSHIPS ",\n    {\"spdxElementId\": \"SPDXRef-partitiontuner\", "
         "\"relationshipType\": \"DEPENDS_ON\", \"relatedSpdxElement\": \"SPDXRef-${id}\"}")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/partitiontuner.spdx.json.in ${PROJECT_BINARY_DIR}/package/partitiontuner.spdx.json @ONLY)
