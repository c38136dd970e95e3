/** A PNG image of 8 × 8 blue pixels. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mOw8r+AFTEMLQkAjjdWQQQnYLMAAAAASUVORK5CYII=',
  'base64'
)
