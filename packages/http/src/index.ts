export { default } from './plugin.ts'
export { createJwtAuthenticate, type JwtAuthenticateSettings } from './auth/jwt-authenticate.ts'
export {
  JwtOptionsSchema,
  type JwtAlgorithm,
  type JwtKeyFunction,
  type JwtOptions,
  type UnverifiedToken
} from './auth/jwt-options.ts'
export { RbacOptionsSchema, ROUTE_SCOPES, type RbacOptions } from './auth/rbac-options.ts'
export { checkOrigin, type OriginRequest } from './auth/check-origin.ts'
export { createScopeAuthorize } from './auth/scope-authorize.ts'
export { clientErrorHandler } from './client-error-handler.ts'
export { errorHandler, handleError as frameworkErrors } from './error-handler.ts'
export { HttpOptionsSchema, type HttpMiddleware, type HttpOptions } from './options.ts'
export { ErrorBodySchema, ProblemSchema, type ErrorBody, type Problem } from './schemas/error-body.ts'
export { requestLogging } from './request-logging.ts'
export { readCredentials, RunBodySchema, type RunBody, type TokenPlace } from '@svc/registry'
export { RunListSchema, RunQuerySchema, type RunList } from './schemas/run-list.ts'
export { generateOpenApi } from './openapi/generate-open-api.ts'
export type { OpenApiDocument } from './openapi/open-api-document.ts'
export { SwaggerOptionsSchema, type SwaggerOptions } from './openapi/swagger-options.ts'
export { buildInput } from './uploads/build-input.ts'
export { FileUploadOptionsSchema, type FileUploadOptions } from './uploads/file-upload-options.ts'
export { uploadPlugin } from './uploads/upload-plugin.ts'
export { UploadedFile } from './uploads/uploaded-file.ts'
export { Uploads } from './uploads/uploads.ts'
export * from './errors.ts'
