// Synonyms of one format, or a container and its contents. Types of one family do not contradict each other.
const FAMILIES = [
  /^image\/(jpe?g|pjpeg|x-jpe?g|jpx|jls)$/,
  /^image\/(png|x-png|apng|vnd\.mozilla\.apng)$/,
  /^image\/(bmp|x-bmp|x-ms-bmp)$/,
  /^image\/(x-icon|vnd\.microsoft\.icon)$/,
  /^image\/(tiff|x-.+)$/,
  /^image\/(avif|hei[cf])(-sequence)?$/,
  /^image\/(vnd\.adobe\.photoshop|x-photoshop|psd)$/,
  /^audio\/(x-)?(mp[123]|mpeg|mpeg3|mpg)$/,
  /^audio\/(x-|vnd\.)?wave?$/,
  /^audio\/(x-)?aiff?$/,
  /^audio\/(x-)?flac$/,
  /^audio\/(x-)?(midi?)$/,
  /^audio\/(x-)?(aac|aacp|m4a|mp4)$/,
  /^(audio|video)\/(x-)?(mp4|m4[abpv]|quicktime|3gpp2?)$/,
  /^(audio|video)\/(x-)?(webm|matroska)$/,
  /^(application|audio|video)\/(x-)?(ogg|opus|speex)$/,
  /^video\/(mpeg|mp[12]p|mp1s|mp2t)$/i,
  /^video\/((vnd\.|x-ms)?avi|x-msvideo|msvideo)$/,
  /^(application|audio|video)\/(x-ms-|vnd\.ms-)(asf|wm[av])$/,
  /^application\/((x-)?zip(-compressed)?|.+\+zip|java-archive|x-xpinstall|vnd\.(openxmlformats-|oasis\.|android\.|apple\.|ms-.+\.(macroenabled\.)?12).*)$|^model\/3mf$/,
  /^application\/(x-cfb|msword|vnd\.ms-(excel|powerpoint|outlook|project|works)|vnd\.visio|x-msi|x-ole-storage)$/,
  /^application\/(x-)?(gzip|tgz|gtar|compressed-tar)$/,
  /^application\/(x-)?(tar|gtar|ustar)$/,
  /^application\/(x-)?(bzip2?)$/,
  /^application\/(x-)?7z(-compressed)?$/,
  /^application\/(x-|vnd\.)?rar(-compressed)?$/,
  /^application\/(x-|vnd\.)?sqlite3?$/,
  /^application\/(x-msdownload|x-dosexec|x-msdos-program|vnd\.microsoft\.portable-executable)$/,
  /^application\/(x-elf|x-executable|x-sharedlib|x-object)$/,
  /^application\/(postscript|eps|x-eps)$/,
  /^application\/(x-)?pgp(-.+)?$/,
  /^font\/(ttf|otf|sfnt|collection)$/,
  /^(font|application)\/(x-)?(font-)?woff2?$/
]

// Formats that custom formats build on.
const CONTAINERS = /^application\/(zip|x-cfb|gzip|xml|x-sqlite3|x-tar|zstd)$/

const TEXTUAL =
  /^(text\/.+|application\/(.+\+)?(json|xml|yaml|javascript|ecmascript|sql|toml|rtf|postscript|eps|x-sh|x-ms-regedit|x-www-form-urlencoded|x-ndjson|x-yaml|x-httpd-php|graphql|xhtml\+xml|pgp-.+)|image\/svg\+xml)$/

/** Whether a type is textual, so without magic bytes. */
export function isTextual(type: string): boolean {
  return TEXTUAL.test(type)
}

/** Whether two types denote one format, or a container and its contents. */
export function isSameFamily(one: string, other: string): boolean {
  return one === other || FAMILIES.some((family) => family.test(one) && family.test(other))
}

/** Whether custom formats build on this one. */
export function isContainer(type: string): boolean {
  return CONTAINERS.test(type)
}
