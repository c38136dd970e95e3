import { readFileSync, writeFileSync } from 'node:fs'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema, type DescriptorProto } from '@bufbuild/protobuf/wkt'

const USAGE = `node tools/describe-protos.ts FILE
Writes packages/a2a/src/wire/descriptors.ts from what protoc makes of the published protos:
protoc -I. --include_imports --descriptor_set_out=FILE a2a/v0.3/a2a.proto a2a/v1.0/a2a.proto \\
  google/rpc/status.proto google/rpc/error_details.proto`
const TARGET = new URL('../packages/a2a/src/wire/descriptors.ts', import.meta.url)

const [path] = process.argv.slice(2)
if (path === undefined || path === '--help') {
  console.log(USAGE)
  process.exit()
}

// The annotations of HTTP and of generated clients are no part of a message.
const { file: files, ...set } = fromBinary(FileDescriptorSetSchema, readFileSync(path))
const isNeeded = (name: string) => !name.startsWith('google/api/') && !name.endsWith('/descriptor.proto')
const kept = files.filter(({ name }) => isNeeded(name))
for (const file of kept) {
  file.dependency = file.dependency.filter(isNeeded)
  delete file.options
  file.messageType.forEach(removeAnnotations)
  for (const { method } of file.service) for (const each of method) delete each.options
}
const bytes = toBinary(FileDescriptorSetSchema, { ...set, file: kept })
writeFileSync(
  TARGET,
  `// Made by tools/describe-protos.ts of the protos of A2A 0.3.0 and 1.0.1 (https://github.com/a2aproject/A2A) and of
// google.rpc (https://github.com/googleapis/googleapis), without their annotations. Both are licensed under the
// Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0

/** The messages and services of A2A 0.3 (\`a2a.v1\`) and 1.0 (\`lf.a2a.v1\`), and Google's of errors: a FileDescriptorSet, as base64. */
export const DESCRIPTORS =
  '${Buffer.from(bytes).toString('base64')}'
`
)

function removeAnnotations({ field, nestedType }: DescriptorProto): void {
  for (const each of field) delete each.options
  nestedType.forEach(removeAnnotations)
}
