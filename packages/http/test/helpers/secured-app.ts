import type { HttpOptions } from '@svc/http'
import { claims, createTokenMaker, type TokenMaker } from '../auth/token-maker.ts'
import { buildApp, type AppRequest, type TestApp } from './build-app.ts'

/** An app that asks for tokens, and whoever calls it. */
export interface SecuredApp extends TestApp {
  maker: TokenMaker
  /** The headers of a caller with these scopes. */
  as(sub: string, ...scopes: string[]): Record<string, string>
  /** Asks for a path under the prefix, as it is written. */
  ask(method: string, path: string, headers?: Record<string, string>, body?: unknown): Promise<Response>
}

/** Serves the plugin with `jwt` and `rbac` until the test ends. */
export async function buildSecuredApp(
  t: Parameters<typeof buildApp>[0],
  { options, ...request }: AppRequest = {},
  jwt: Partial<HttpOptions['jwt']> = {}
): Promise<SecuredApp> {
  const maker = createTokenMaker('HS256')
  const app = await buildApp(t, {
    ...request,
    options: { jwt: { secret: maker.secret, ...jwt }, rbac: {}, ...options }
  })
  return {
    ...app,
    maker,
    as: (sub, ...scopes) => ({ authorization: `Bearer ${maker.sign(claims({ sub, scopes }))}` }),
    ask: (method, path, headers = {}, body) =>
      app.check(
        method,
        path,
        fetch(app.url + path, {
          method,
          redirect: 'manual',
          headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
          ...(body !== undefined && { body: JSON.stringify(body) })
        })
      )
  }
}
