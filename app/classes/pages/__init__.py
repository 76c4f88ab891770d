"""The pages of classes: for teachers, assistants and students."""
