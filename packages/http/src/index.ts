export { default } from './plugin.ts'
export { createJwtAuthenticate, type JwtAuthenticateSettings } from './auth/jwt-authenticate.ts'
export type { JwtAlgorithm, JwtKeyFunction, UnverifiedToken } from './auth/jwt-key.ts'
export { JwtOptionsSchema, type JwtOptions } from './auth/jwt-options.ts'
export {
  createScopeAuthorize,
  RbacOptionsSchema,
  ROUTE_SCOPES,
  type RbacOptions
} from './auth/rbac-options.ts'
export { checkOrigin, type OriginRequest } from './auth/check-origin.ts'
export { clientErrorHandler } from './errors/client-error-handler.ts'
export { errorHandler, handleError as frameworkErrors } from './errors/error-handler.ts'
export { HttpOptionsSchema, type HttpMiddleware, type HttpOptions } from './options.ts'
export { ErrorBodySchema, ProblemSchema, type ErrorBody, type Problem } from './schemas/error-body.ts'
export { requestLogging } from './requests/request-logging.ts'
export { RunBodySchema, type RunBody } from '@svc/contract'
export { readCredentials, type OpenApiDocument, type TokenPlace } from '@svc/surface'
export { RunListSchema, RunQuerySchema, type RunList } from './schemas/run-list.ts'
export { generateOpenApi } from './openapi/generate-open-api.ts'
export { SwaggerOptionsSchema, type SwaggerOptions } from './openapi/swagger-options.ts'
export { buildInput } from './uploads/take-run-forms.ts'
export { FileUploadOptionsSchema, type FileUploadOptions } from './uploads/read-uploads.ts'
export { uploadPlugin } from './uploads/receive-uploads.ts'
export { UploadedFile, Uploads } from './uploads/uploads.ts'
export * as errors from './errors.ts'
