// TypeBox as one module: the build replaces each import of it by this entry, and its 249 files by what is bundled here.
export { FormatRegistry, Kind, Type, TypeRegistry } from '@sinclair/typebox'
export { TypeCompiler } from '@sinclair/typebox/compiler'
export { ValueErrorType } from '@sinclair/typebox/errors'
export { Value, ValuePointer } from '@sinclair/typebox/value'
