import type { TestApp } from './build-app.ts'

/** Sends a request to a route of the app, such as `POST /tasks/1:cancel`, and reads its answer. */
export async function askRoute({ url }: Pick<TestApp, 'url'>, route: string, body?: object, headers = {}) {
  const [method = '', path = ''] = route.split(' ')
  const response = await fetch(url + path, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text, text }
}
