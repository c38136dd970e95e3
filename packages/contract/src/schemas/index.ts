export {
  compileForeignSchema,
  type CheckForeign,
  type ForeignSchema,
  type ForeignSchemaOptions
} from './foreign-schema.ts'
