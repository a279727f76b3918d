/**
 * The tables of an agent's object, without those of vectors of other models. `file_parts` holds the uploaded files whose text is not
 * extracted yet; the first part of each counts the reads of the file that have begun, and `upload_id` tells one upload for a source from
 * the next. A row of `sentence_vectors` has the int8 vectors of all segments of a chunk, one after the other, and one of
 * `question_vectors` that of a curated question, or NULL in another language than the encoder's.
 */
export const TABLES = `
CREATE TABLE texts (source_id TEXT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE text_parts (source_id TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (source_id, part));
CREATE TABLE file_parts (
  source_id TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, reads INTEGER NOT NULL DEFAULT 0, upload_id TEXT NOT NULL,
  PRIMARY KEY (source_id, part));
CREATE TABLE generations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, source_id TEXT NOT NULL, state TEXT NOT NULL, run_id TEXT NOT NULL, hash TEXT NOT NULL,
  UNIQUE (source_id, state));
CREATE INDEX generations_building ON generations (id) WHERE state = 'building';
CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, source_id TEXT NOT NULL, generation_id INTEGER NOT NULL, seen_in INTEGER NOT NULL,
  type TEXT NOT NULL, url TEXT, title TEXT NOT NULL, hash TEXT NOT NULL, chunks_count INTEGER NOT NULL DEFAULT 0,
  text_bytes INTEGER NOT NULL DEFAULT 0);
CREATE INDEX documents_source ON documents (source_id, url);
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, document_id INTEGER NOT NULL, heading TEXT, content TEXT NOT NULL, terms TEXT NOT NULL);
CREATE INDEX chunks_document ON chunks (document_id);
CREATE TABLE sentence_vectors (chunk_id INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TRIGGER sentence_vectors_of_deleted AFTER DELETE ON chunks BEGIN
  DELETE FROM sentence_vectors WHERE chunk_id = OLD.id;
END;
CREATE VIRTUAL TABLE chunk_index USING fts5 (generation, title, heading, body, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* Co' tokenchars '._'");
CREATE VIRTUAL TABLE chunk_terms USING fts5vocab (chunk_index, row);
CREATE VIRTUAL TABLE chunk_term_places USING fts5vocab (chunk_index, instance);
CREATE TABLE answers (
  id INTEGER PRIMARY KEY AUTOINCREMENT, answer_id TEXT NOT NULL UNIQUE, question TEXT NOT NULL, answer TEXT NOT NULL,
  updated_at INTEGER NOT NULL DEFAULT 0);
CREATE TABLE question_vectors (answer_row INTEGER PRIMARY KEY, vector BLOB);
CREATE TRIGGER question_vectors_of_deleted AFTER DELETE ON answers BEGIN
  DELETE FROM question_vectors WHERE answer_row = OLD.id;
END;
CREATE TABLE crawls (
  source_id TEXT PRIMARY KEY, sync_number INTEGER NOT NULL, phase TEXT NOT NULL, origin TEXT NOT NULL, robots TEXT,
  failures_in_a_row INTEGER NOT NULL DEFAULT 0, result TEXT) WITHOUT ROWID;
CREATE TABLE hosts (host TEXT PRIMARY KEY, next_fetch_at INTEGER NOT NULL, held_by TEXT, held_until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE variant_groups (
  source_id TEXT NOT NULL, group_key TEXT NOT NULL, run INTEGER NOT NULL, pages INTEGER NOT NULL, PRIMARY KEY (source_id, group_key)) WITHOUT ROWID;
CREATE TABLE pages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, source_id TEXT NOT NULL, page_key TEXT NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL,
  run INTEGER NOT NULL, depth INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, last_state TEXT, last_reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0, hops INTEGER NOT NULL DEFAULT 0, handed_out INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0, etag TEXT, last_modified TEXT, hash TEXT, document_id INTEGER, built_id INTEGER,
  links TEXT, blocks TEXT, UNIQUE (source_id, page_key));
CREATE INDEX pages_waiting ON pages (source_id, depth, id) WHERE state = 'waiting';
CREATE INDEX pages_unindexed ON pages (source_id, id) WHERE state = 'fetched';
CREATE INDEX pages_run ON pages (source_id, run, kind, state, reason);
CREATE INDEX pages_hash ON pages (source_id, hash) WHERE hash IS NOT NULL;
CREATE INDEX pages_document ON pages (document_id) WHERE document_id IS NOT NULL;
CREATE TABLE page_texts (page_id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE page_blocks (
  source_id TEXT NOT NULL, block TEXT NOT NULL, pages INTEGER NOT NULL, PRIMARY KEY (source_id, block)) WITHOUT ROWID;
`;

/** SQL condition: a document is not of a generation that is being built. Such a generation has documents of its own, which no search finds yet. */
export const IS_LIVE = "generation_id NOT IN (SELECT id FROM generations WHERE state = 'building')";
